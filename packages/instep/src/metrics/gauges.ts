import type { Health } from '../health/health.ts';
import type { Queued } from '../ingest/pipeline.ts';
import type { PoolUse } from '../postgres/database-pool.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { InstepError } from '../runtime/errors.ts';
import { gauge, gaugeBy, type Metric } from './series.ts';

export type GaugesOptions = {
  readonly queued: () => Queued;
  readonly poolUse: () => PoolUse;
  readonly readHealth: () => Promise<Health>;
  readonly now: () => number;
  readonly clockMs: () => number;
};

const HEALTH_LIFETIME_MS = 3_000;
const HEALTH_DEADLINE_MS = 1_000;

/** Gauges that are read at the moment of the scrape. An unknown value (`null`) is left out. */
export function createGauges(options: GaugesOptions, clockSkewSeconds: () => number | null) {
  const { queued, poolUse, now } = options;
  const readHealth = cachedHealth(options);
  return async (): Promise<Metric[]> => {
    const { ready, blocked, limit } = queued();
    const { total, idle, waiting } = poolUse();
    const health = await readHealth();
    const lastMs = health?.lastDeliveredMs ?? null;
    return [
      gauge(
        'instep_clock_skew_seconds',
        'How far this clock was ahead of the time in the last valid signature, network delay included.',
        clockSkewSeconds(),
      ),
      gaugeBy(
        'queue',
        'instep_queued_events',
        'Events waiting for a batch, by queue; the queue blocked is for teams that another transaction has locked.',
        { ready, blocked },
      ),
      gauge(
        'instep_queued_events_limit',
        'Number of events that can wait in the queue ready. Further events get a 503.',
        limit,
      ),
      gaugeBy(
        'state',
        'instep_database_connections',
        'Database connections in the pool, by state: busy or idle.',
        { busy: total - idle, idle },
      ),
      gauge(
        'instep_database_connection_waiters',
        'Statements and transactions waiting for a connection from the pool.',
        waiting,
      ),
      gauge(
        'instep_database_up',
        '1 if the database answered the last query for the health gauges within a second. The gauges below need it.',
        health === null ? 0 : 1,
      ),
      gauge(
        'instep_parked_events',
        'Parked events, counted up to 10000: no team has their customer id.',
        health?.parkedEvents,
      ),
      gauge(
        'instep_known_customer_parked_events',
        'Parked events of customers that once had a team, counted up to 10000.',
        health?.parkedOfKnownCustomers,
      ),
      gauge(
        'instep_ambiguous_subscriptions',
        'Subscriptions whose same-second order has been ambiguous for ten minutes.',
        health?.ambiguousSubscriptions,
      ),
      gauge(
        'instep_nameless_products',
        'Products without a name. Teams with these products have no plan name either.',
        health?.namelessProducts,
      ),
      gauge(
        'instep_last_event_age_seconds',
        'Time since Stripe last delivered an event that is in the log.',
        lastMs && Math.max(0, now() - lastMs) / 1_000,
      ),
    ];
  };
}

/** Reads at most every three seconds, and never twice at the same time; `null` when it fails. */
function cachedHealth({ readHealth, clockMs }: GaugesOptions) {
  let latest: Promise<Health> | null = null;
  let isPending = false;
  let freshUntilMs = 0;

  function read(): Promise<Health> {
    if (latest !== null && (isPending || clockMs() < freshUntilMs)) return latest;
    freshUntilMs = clockMs() + HEALTH_LIFETIME_MS;
    isPending = true;
    latest = readHealth().finally(() => {
      isPending = false;
    });
    return latest;
  }

  return async (): Promise<Health | null> => {
    try {
      return await withDeadline(read(), HEALTH_DEADLINE_MS);
    } catch (error) {
      // The requests that need the database log what is wrong with it.
      if (error instanceof InstepError) return null;
      throw error;
    }
  };
}
