import type { TeamPlanChoice } from '../core/plan-selection.ts';
import { keepFigures } from '../event-log/sum-statistics.ts';
import type { Accept } from '../ingest/pipeline.ts';
import type { Database } from '../postgres/database.ts';
import { countTeamsInTurn } from '../queries/team-counts.ts';
import type { Logger } from '../runtime/logging.ts';
import type { StripeApi } from '../stripe/api.ts';
import type { ProductNames } from '../stripe/product-names.ts';
import { createTiesTask } from './ambiguous-order.ts';
import { createCatchUpTask } from './catch-up.ts';
import { keepParked } from './parked-events.ts';
import { keepNames } from './product-names.ts';
import { createPace } from './rate-limiter.ts';
import { keepRetention } from './retention.ts';
import { createReconcileTask } from './scheduled-reconciliation.ts';
import type { KeeperTask } from './worker.ts';

export type KeeperOptions = {
  readonly database: Database;
  readonly accept: Accept;
  readonly api: StripeApi;
  readonly productNames: ProductNames;
  /** Which of several subscriptions a team has. */
  readonly choice: TeamPlanChoice;
  readonly logger: Logger;
  /** How often Stripe is asked for missed events; `null`: never. */
  readonly catchUpIntervalMs: number | null;
  /** How often all teams are compared with what Stripe lists; `null`: never. */
  readonly reconcileIntervalMs: number | null;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly nonce: () => string;
  /** How long events stay in the log; `null`: for ever. */
  readonly retentionMs: number | null;
};

/** Everything that can be out of step while no event tells of it. */
export function createKeeperTasks(options: KeeperOptions): KeeperTask[] {
  const { database, accept, api, productNames, logger, now, nonce } = options;
  const { query } = database;
  const pace = createPace(now);
  const retrieveProductName = (id: string) => pace(() => api.retrieveProductName(id));
  const retrieveSubscription = (id: string) => pace(() => api.retrieveSubscription(id));
  const lists = {
    listEvents: (from) => pace(() => api.listEvents(from)),
    listSubscriptions: (from) => pace(() => api.listSubscriptions(from)),
    listCustomers: (from) => pace(() => api.listCustomers(from)),
  } satisfies Partial<StripeApi>;
  const walks = { ...options, ...lists, query, nameOf: productNames.nameOf };
  return [
    {
      name: 'parked',
      intervalMs: 1_000,
      mend: (signal) => keepParked(query, accept, signal),
    },
    {
      name: 'ties',
      intervalMs: 2_000,
      mend: createTiesTask({ query, accept, retrieveSubscription, now, nonce }),
    },
    {
      name: 'names',
      intervalMs: 5_000,
      mend: (signal) => keepNames({ query, retrieveProductName, logger }, signal),
    },
    {
      name: 'figures',
      intervalMs: 5_000,
      mend: (signal) => keepFigures({ database, now }, signal),
    },
    {
      name: 'team-counts',
      intervalMs: 5_000,
      mend: () => countTeamsInTurn(query),
    },
    ...unlessOff(options.catchUpIntervalMs, (intervalMs) => ({
      name: 'catch-up',
      intervalMs: 5_000,
      mend: createCatchUpTask({ ...walks, intervalMs }),
    })),
    ...unlessOff(options.reconcileIntervalMs, (intervalMs) => ({
      name: 'reconcile',
      intervalMs: 5_000,
      mend: createReconcileTask({ ...walks, intervalMs }),
    })),
    ...unlessOff(options.retentionMs, (retentionMs) => ({
      name: 'retention',
      intervalMs: 60_000,
      mend: (signal) => keepRetention({ query, retentionMs, now, logger }, signal),
    })),
  ];
}

/** A task, unless the time that it needs is turned off. */
function unlessOff(timeMs: number | null, create: (timeMs: number) => KeeperTask): KeeperTask[] {
  return timeMs === null ? [] : [create(timeMs)];
}
