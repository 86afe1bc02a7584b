import type { PoolUse } from '../../postgres/pools.ts';
import type { OutOfSync } from '../../queries/out-of-sync.ts';
import { withDeadline } from '../../runtime/deadline.ts';
import { InstepError } from '../../runtime/errors.ts';
import type { Instruments, Readings } from './instruments.ts';

export type DatabaseGaugesOptions = {
  readonly poolUse: () => PoolUse;
  readonly readOutOfStep: () => Promise<OutOfSync>;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  /** In milliseconds, by a clock that nobody sets. */
  readonly clockMs: () => number;
};

/** Whoever asks more often gets what was read before. */
const LIFETIME_MS = 3_000;
const DEADLINE_MS = 1_000;

/** Shows the connections to the database, and what it says of all that is not done. */
export function observeDatabase(instruments: Instruments, options: DatabaseGaugesOptions): void {
  const { poolUse, now } = options;
  const readState = seldom(options);

  instruments.gauge(
    {
      name: 'instep_database_connections',
      help: 'Connections of our pool to the database, by whether they are in use.',
    },
    () => {
      const { total, idle } = poolUse();
      return [
        { labels: { state: 'busy' }, value: total - idle },
        { labels: { state: 'idle' }, value: idle },
      ];
    },
  );
  instruments.gauge(
    {
      name: 'instep_database_connection_waiters',
      help: 'Statements and transactions that wait for a connection of our pool.',
    },
    () => [{ labels: {}, value: poolUse().waiting }],
  );
  instruments.gauge(
    {
      name: 'instep_database_up',
      help: 'Whether the database says within a second what is not done. Without it, the gauges of that are not shown.',
    },
    async () => [{ labels: {}, value: (await readState()) === null ? 0 : 1 }],
  );

  /** A gauge of what is known while the database answers. */
  function show(name: string, help: string, valueIn: (state: OutOfSync) => number | null): void {
    instruments.gauge({ name, help }, async (): Promise<Readings> => {
      const state = await readState();
      const value = state === null ? null : valueIn(state);
      return value === null ? [] : [{ labels: {}, value }];
    });
  }
  show(
    'instep_parked_events',
    'Events whose customer no team has, up to ten thousand.',
    ({ parkedEvents }) => parkedEvents,
  );
  show(
    'instep_uncertain_subscriptions',
    'Subscriptions of which nothing has told for ten minutes which event of a second came last.',
    ({ ties }) => ties,
  );
  show(
    'instep_nameless_products',
    'Products without a name; the plans of their teams have none either.',
    ({ namelessProducts }) => namelessProducts,
  );
  show(
    'instep_last_event_age_seconds',
    'How long ago Stripe last delivered an event that is in the log.',
    ({ lastDeliveredMs }) =>
      lastDeliveredMs === null ? null : Math.max(0, now() - lastDeliveredMs) / 1_000,
  );
}

/** Reads what is not done, unless that was done a moment ago; `null` when it fails. */
function seldom(options: DatabaseGaugesOptions): () => Promise<OutOfSync | null> {
  const { readOutOfStep, clockMs } = options;
  let latest: Promise<OutOfSync> | null = null;
  let isUnderWay = false;
  let freshUntilMs = 0;

  function read(): Promise<OutOfSync> {
    if (latest !== null && (isUnderWay || clockMs() < freshUntilMs)) return latest;
    freshUntilMs = clockMs() + LIFETIME_MS;
    isUnderWay = true;
    latest = readOutOfStep().finally(() => {
      isUnderWay = false;
    });
    return latest;
  }

  return async () => {
    try {
      return await withDeadline(read(), DEADLINE_MS);
    } catch (error) {
      // Whoever needs the database to answer a request says what is wrong with it.
      if (error instanceof InstepError) return null;
      throw error;
    }
  };
}
