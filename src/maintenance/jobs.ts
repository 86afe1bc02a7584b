import type { PlanSelection } from '../core/plan-selection.ts';
import { sumStatistics } from '../event-log/sum-statistics.ts';
import type { Ingest } from '../ingest/pipeline.ts';
import type { Database } from '../postgres/database.ts';
import { countTeamsInTurn } from '../queries/team-counts.ts';
import type { Logger } from '../runtime/logging.ts';
import type { StripeApi } from '../stripe/api.ts';
import type { ProductNames } from '../stripe/product-names.ts';
import { createAmbiguousOrderJob } from './ambiguous-order.ts';
import { createCatchUpJob } from './catch-up.ts';
import { applyParkedEvents } from './parked-events.ts';
import { lookUpProductNames } from './product-names.ts';
import { createRateLimiter } from './rate-limiter.ts';
import { pruneExpiredEvents } from './retention.ts';
import { createReconcileJob } from './scheduled-reconciliation.ts';
import type { Job } from './worker.ts';

export type JobsOptions = {
  readonly database: Database;
  readonly ingest: Ingest;
  readonly api: StripeApi;
  readonly productNames: ProductNames;
  /** Which of several subscriptions a team has. */
  readonly planSelection: PlanSelection;
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
export function createJobs(options: JobsOptions): Job[] {
  const { database, ingest, api, productNames, logger, now, nonce } = options;
  const { query } = database;
  const pace = createRateLimiter(now);
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
      run: (signal) => applyParkedEvents(query, ingest, signal),
    },
    {
      name: 'ambiguous-order',
      intervalMs: 2_000,
      run: createAmbiguousOrderJob({ query, ingest, retrieveSubscription, now, nonce }),
    },
    {
      name: 'product-names',
      intervalMs: 5_000,
      run: (signal) => lookUpProductNames({ query, retrieveProductName, logger }, signal),
    },
    {
      name: 'statistics',
      intervalMs: 5_000,
      run: (signal) => sumStatistics({ database, now }, signal),
    },
    {
      name: 'team-counts',
      intervalMs: 5_000,
      run: () => countTeamsInTurn(query),
    },
    ...unlessOff(options.catchUpIntervalMs, (intervalMs) => ({
      name: 'catch-up',
      intervalMs: 5_000,
      run: createCatchUpJob({ ...walks, intervalMs }),
    })),
    ...unlessOff(options.reconcileIntervalMs, (intervalMs) => ({
      name: 'reconcile',
      intervalMs: 5_000,
      run: createReconcileJob({ ...walks, intervalMs }),
    })),
    ...unlessOff(options.retentionMs, (retentionMs) => ({
      name: 'retention',
      intervalMs: 60_000,
      run: (signal) => pruneExpiredEvents({ query, retentionMs, now, logger }, signal),
    })),
  ];
}

/** A task, unless the time that it needs is turned off. */
function unlessOff(timeMs: number | null, create: (timeMs: number) => Job): Job[] {
  return timeMs === null ? [] : [create(timeMs)];
}
