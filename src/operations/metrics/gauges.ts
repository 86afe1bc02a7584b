import type { Queued } from '../../ingest/pipeline.ts';
import type { PoolUse } from '../../postgres/pools.ts';
import type { Health } from '../../queries/health.ts';
import { withDeadline } from '../../runtime/deadline.ts';
import { InstepError } from '../../runtime/errors.ts';
import type { Metric } from './snapshot.ts';

export type GaugesOptions = {
  readonly queued: () => Queued;
  readonly poolUse: () => PoolUse;
  readonly readHealth: () => Promise<Health>;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  /** In milliseconds, by a clock that is never set. */
  readonly clockMs: () => number;
};

const OUT_OF_SYNC_LIFETIME_MS = 3_000;
const OUT_OF_SYNC_DEADLINE_MS = 1_000;

/** What is read at the moment of the scrape. A value that is not known (`null`) is not shown. */
export function createGauges(options: GaugesOptions, clockSkewSeconds: () => number | null) {
  const { queued, poolUse, now } = options;
  const health = cachedHealth(options);
  const ageSeconds = (ms: number | null) => ms && Math.max(0, now() - ms) / 1_000;

  return [
    gauge(
      'instep_clock_skew_seconds',
      'How far our clock was ahead of the time in the last signature when it arrived, transit included.',
      async () => clockSkewSeconds(),
    ),
    gauge(
      'instep_queued_events',
      'Events that wait for a batch, by lane; the lane blocked is for teams that another session has locked.',
      async () => {
        const { ready, blocked } = queued();
        return { lane: { ready, blocked } };
      },
    ),
    gauge(
      'instep_queued_events_limit',
      'How many events may wait in the lane ready before more are answered 503.',
      async () => queued().limit,
    ),
    gauge(
      'instep_database_connections',
      'Connections of our pool to the database, by whether they are in use.',
      async () => {
        const { total, idle } = poolUse();
        return { state: { busy: total - idle, idle } };
      },
    ),
    gauge(
      'instep_database_connection_waiters',
      'Statements and transactions that wait for a connection of our pool.',
      async () => poolUse().waiting,
    ),
    gauge(
      'instep_database_up',
      'Whether the database reported within a second what is out of sync. The gauges below need it.',
      async () => ((await health()) === null ? 0 : 1),
    ),
    gauge(
      'instep_parked_events',
      'Events whose customer no team has, up to 10000.',
      async () => (await health())?.parkedEvents ?? null,
    ),
    gauge(
      'instep_ambiguous_subscriptions',
      'Subscriptions whose same-second events have had no known order for ten minutes.',
      async () => (await health())?.ambiguousSubscriptions ?? null,
    ),
    gauge(
      'instep_nameless_products',
      'Products without a name. The plans of their teams have no name either.',
      async () => (await health())?.namelessProducts ?? null,
    ),
    gauge(
      'instep_last_event_age_seconds',
      'Time since Stripe last delivered an event that is in the log.',
      async () => ageSeconds((await health())?.lastDeliveredMs ?? null),
    ),
  ];
}

/** One value, or one for each value of a label. */
type Reading = number | null | Readonly<Record<string, Readonly<Record<string, number>>>>;

function gauge(name: string, help: string, read: () => Promise<Reading>) {
  return async (): Promise<Metric> => ({
    name,
    help,
    type: 'gauge',
    values: valuesOf(await read()),
  });
}

function valuesOf(reading: Reading): Metric['values'] {
  if (reading === null) return [];
  if (typeof reading === 'number') return [{ labels: {}, value: reading }];
  return Object.entries(reading).flatMap(([label, values]) =>
    Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value })),
  );
}

/** Reads at most every three seconds, and never twice at the same time; `null` when it fails. */
function cachedHealth({ readHealth, clockMs }: GaugesOptions) {
  let latest: Promise<Health> | null = null;
  let isPending = false;
  let freshUntilMs = 0;

  function read(): Promise<Health> {
    if (latest !== null && (isPending || clockMs() < freshUntilMs)) return latest;
    freshUntilMs = clockMs() + OUT_OF_SYNC_LIFETIME_MS;
    isPending = true;
    latest = readHealth().finally(() => {
      isPending = false;
    });
    return latest;
  }

  return async (): Promise<Health | null> => {
    try {
      return await withDeadline(read(), OUT_OF_SYNC_DEADLINE_MS);
    } catch (error) {
      // The requests that need the database log what is wrong with it.
      if (error instanceof InstepError) return null;
      throw error;
    }
  };
}
