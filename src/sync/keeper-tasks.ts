import type { Query } from '../database/database.ts';
import type { Logger } from '../logging.ts';
import type { StripeApi } from '../stripe/api.ts';
import type { Accept } from './door.ts';
import { createCatchUpTask } from './keep-caught-up.ts';
import { keepNames } from './keep-names.ts';
import { keepParked } from './keep-parked.ts';
import { keepRetention } from './keep-retention.ts';
import { createTiesTask } from './keep-ties.ts';
import type { KeeperTask } from './keeper.ts';
import { createPace } from './pace.ts';

export type KeeperOptions = {
  readonly query: Query;
  readonly accept: Accept;
  readonly api: StripeApi;
  readonly logger: Logger;
  /** How often Stripe is asked for missed events; `null`: never. */
  readonly catchUpIntervalMs: number | null;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly nonce: () => string;
  /** How long events stay in the log; `null`: for ever. */
  readonly retentionMs: number | null;
};

/** All tasks together ask Stripe's API ten times a second at most. */
const API_INTERVAL_MS = 100;

/** Everything that can be out of step while no event tells of it. */
export function createKeeperTasks(options: KeeperOptions): KeeperTask[] {
  const { query, accept, api, logger, now, nonce, retentionMs } = options;
  const pace = createPace(API_INTERVAL_MS, now);
  const retrieveProductName = (id: string) => pace(() => api.retrieveProductName(id));
  const retrieveSubscription = (id: string) => pace(() => api.retrieveSubscription(id));
  const listEvents: StripeApi['listEvents'] = (from) => pace(() => api.listEvents(from));
  const tasks: KeeperTask[] = [
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
  ];
  if (retentionMs !== null) {
    tasks.push({
      name: 'retention',
      intervalMs: 60_000,
      mend: (signal) => keepRetention({ query, retentionMs, now, logger }, signal),
    });
  }
  const { catchUpIntervalMs } = options;
  if (catchUpIntervalMs !== null) {
    const catchingUp = { query, accept, listEvents, logger, now, nonce };
    tasks.push({
      name: 'catch-up',
      intervalMs: 5_000,
      mend: createCatchUpTask({ ...catchingUp, intervalMs: catchUpIntervalMs }),
    });
  }
  return tasks;
}
