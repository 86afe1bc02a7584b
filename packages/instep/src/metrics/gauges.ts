import type { Health } from '../health/health.ts';
import { ISSUES, type Issue } from '../health/issues.ts';
import type { Queued } from '../ingest/pipeline.ts';
import type { PoolUse } from '../postgres/database-pool.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { InstepError } from '../runtime/errors.ts';
import { gauge, gaugeBy, type Metric } from './series.ts';

/** What is known about the health of the whole service. */
export type ObservedHealth = { readonly figures: Health; readonly issues: readonly Issue[] };

export type GaugesOptions = {
  readonly queued: () => Queued;
  readonly poolUse: () => PoolUse;
  readonly readHealth: () => Promise<ObservedHealth>;
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
    const figures = health?.figures;
    const lastMs = figures?.lastDeliveredMs ?? null;
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
      gaugeBy(
        'code',
        'instep_issues',
        'Open issues by code: the number of teams, customers, subscriptions or events that have it, and 1 for an issue of the service.',
        health === null ? {} : issueCounts(health.issues),
      ),
      gauge(
        'instep_double_billed_customers',
        'Customers with several subscriptions that Stripe charges, and second customers of a team.',
        health &&
          countOf(health.issues, 'double-billed') + countOf(health.issues, 'second-customer'),
      ),
      gauge(
        'instep_parked_events',
        'Parked events, counted up to 10000: no team has their customer id.',
        figures?.parkedEvents,
      ),
      gauge(
        'instep_known_customer_parked_events',
        'Parked events of customers that once had a team, counted up to 10000.',
        figures?.parkedOfKnownCustomers,
      ),
      gauge(
        'instep_ambiguous_subscriptions',
        'Subscriptions whose same-second order has been ambiguous for ten minutes.',
        figures?.ambiguousSubscriptions,
      ),
      gauge(
        'instep_nameless_products',
        'Products without a name. Teams with these products have no plan name either.',
        figures?.namelessProducts,
      ),
      gauge(
        'instep_last_event_age_seconds',
        'Time since Stripe last delivered an event that is in the log.',
        lastMs && Math.max(0, now() - lastMs) / 1_000,
      ),
    ];
  };
}

const countOf = (issues: readonly Issue[], code: Issue['code']) =>
  issues.find((issue) => issue.code === code)?.count ?? 0;

/** A zero for each code without issues. Whether writes are committed is known to `/readyz` only. */
function issueCounts(issues: readonly Issue[]): Readonly<Record<string, number>> {
  const { 'writes-not-committed': _, ...known } = ISSUES;
  const counts = Object.fromEntries(Object.keys(known).map((code) => [code, 0]));
  for (const { code, count } of issues) counts[code] = count;
  return counts;
}

/** Reads at most every three seconds, and never twice at the same time; `null` when it fails. */
function cachedHealth({ readHealth, clockMs }: GaugesOptions) {
  let latest: Promise<ObservedHealth> | null = null;
  let isPending = false;
  let freshUntilMs = 0;

  function read(): Promise<ObservedHealth> {
    if (latest !== null && (isPending || clockMs() < freshUntilMs)) return latest;
    freshUntilMs = clockMs() + HEALTH_LIFETIME_MS;
    isPending = true;
    latest = readHealth().finally(() => {
      isPending = false;
    });
    return latest;
  }

  return async (): Promise<ObservedHealth | null> => {
    try {
      return await withDeadline(read(), HEALTH_DEADLINE_MS);
    } catch (error) {
      // The requests that need the database log what is wrong with it.
      if (error instanceof InstepError) return null;
      throw error;
    }
  };
}
