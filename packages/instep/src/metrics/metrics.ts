// All metrics but those of the process: what is counted in it, and the gauges that are read for each scrape.

import { LOGGED_OUTCOMES } from '../core/subscription-event.ts';
import type { Figures } from '../health/figures.ts';
import { ISSUES, type Issue } from '../health/issues.ts';
import type { Queued } from '../ingest/event-queues.ts';
import type { PoolUse } from '../postgres/database-pool.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { InstepError } from '../runtime/errors.ts';
import type { Instrumentation } from '../runtime/instrumentation.ts';
import { USER_PATH } from '../server/http-message.ts';
import { WEBHOOK_PATH } from '../server/webhook.ts';
import { REJECTIONS } from '../sessions/token.ts';
import { HANDLED_TYPES } from '../stripe/parse-event.ts';
import { readProcessMetrics } from './process-metrics.ts';
import {
  Counter,
  createExposition,
  type Exposition,
  gauge,
  gaugeBy,
  Histogram,
  type Metric,
} from './series.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Stripe's times are whole seconds, and it retries a delivery for three days. */
const DELAY_BOUNDS = [
  ...[1, 2, 3, 5, 10, 30],
  ...[MINUTE, 5 * MINUTE, 15 * MINUTE],
  ...[HOUR, 3 * HOUR, 12 * HOUR],
  ...[DAY, 2 * DAY, 3 * DAY],
];

const SOURCES = ['delivery', 'log', 'list'];
const OUTCOMES = [...LOGGED_OUTCOMES, 'duplicate'];

function createSeries() {
  return {
    requests: new Histogram(
      'instep_http_request_duration_seconds',
      'Time from a request to its response, by route and status.',
      [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    ),
    events: new Counter(
      'instep_events_total',
      "Signed events by type, outcome and source. delivery: Stripe delivered it. list: it was missed and found in Stripe's list. log: it was replayed, or is a snapshot.",
    ),
    eventFailures: new Counter(
      'instep_event_failures_total',
      'Events that were refused or could not be stored, by error code. Stripe sends them again.',
    ),
    eventMismatches: new Counter(
      'instep_mismatched_events_total',
      'Events whose mode or account differs from the API key. They are applied.',
    ),
    deliveryDelays: new Histogram(
      'instep_event_delivery_delay_seconds',
      'Time from the creation of an event at Stripe to its first delivery.',
      DELAY_BOUNDS,
    ),
    signatureFailures: new Counter(
      'instep_signature_failures_total',
      'Webhooks without a valid signature, or with a signature that is too old.',
    ),
    sessionRejections: new Counter(
      'instep_rejected_sessions_total',
      'Session cookies that stand for no session, by reason. signature: another secret signed it.',
    ),
    batchSizes: new Histogram(
      'instep_batch_events',
      'Events in one transaction, by queue.',
      [1, 2, 5, 10, 20, 50, 100, 200, 500],
    ),
    batchDurations: new Histogram(
      'instep_batch_duration_seconds',
      'Duration of the transactions that process events, by queue.',
      [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5],
    ),
    apiCalls: new Histogram(
      'instep_stripe_api_call_duration_seconds',
      'Duration of calls to the API of Stripe, by path and result: done, a status, timeout, or no answer.',
      [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15],
    ),
    jobs: new Histogram(
      'instep_maintenance_run_duration_seconds',
      'Duration of the runs of maintenance jobs, by job and result.',
      [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600],
    ),
  };
}

/** Counts and measures the reports of all parts of this process. */
export function createMetrics(options: GaugesOptions): Exposition & Instrumentation {
  const series = createSeries();
  const { requests, events, eventFailures, deliveryDelays, jobs } = series;
  for (const route of [USER_PATH, WEBHOOK_PATH]) {
    for (const status of ['200', '503']) requests.declare({ route, status });
  }
  for (const type of HANDLED_TYPES) {
    for (const outcome of OUTCOMES) {
      for (const source of SOURCES) events.declare({ type, outcome, source });
    }
  }
  eventFailures.declare({ code: 'QUEUE_FULL' });
  for (const mismatch of ['mode', 'account']) series.eventMismatches.declare({ mismatch });
  series.signatureFailures.declare();
  for (const reason of REJECTIONS) series.sessionRejections.declare({ reason });
  deliveryDelays.declare();

  let clockSkewSeconds: number | null = null;
  const readGauges = createGauges(options, () => clockSkewSeconds);

  return {
    ...createExposition(async () => {
      const read = await Promise.all([readGauges(), readProcessMetrics()]);
      return [...Object.values(series).map((metric) => metric.read()), ...read.flat()];
    }),
    requestAnswered(route, status, durationMs) {
      requests.observe(durationMs / 1_000, { route, status: String(status) });
    },
    signatureMatched(timestampSeconds) {
      clockSkewSeconds = options.now() / 1_000 - timestampSeconds;
    },
    signatureRejected: () => series.signatureFailures.increase(),
    sessionRejected: (reason) => series.sessionRejections.increase({ reason }),
    eventProcessed({ type, outcome, source, delayMs }) {
      events.increase({ type, outcome, source });
      // Clocks differ, so a delay can be negative, but a sum must not fall.
      if (delayMs !== null) deliveryDelays.observe(Math.max(0, delayMs) / 1_000);
    },
    eventMismatched: (mismatch) => series.eventMismatches.increase({ mismatch }),
    eventFailed(error) {
      eventFailures.increase({ code: error instanceof InstepError ? error.code : 'other' });
    },
    batchEnded(queue, size, durationMs) {
      series.batchSizes.observe(size, { queue });
      series.batchDurations.observe(Math.max(0, durationMs) / 1_000, { queue });
    },
    apiCallEnded(path, result, durationMs) {
      series.apiCalls.observe(durationMs / 1_000, { path, result });
    },
    jobEnded(job, result, durationMs) {
      jobs.declare({ job, result: 'failed' });
      jobs.observe(durationMs / 1_000, { job, result });
    },
  };
}

/** What is known about the health of the whole service. */
export type ObservedHealth = {
  readonly figures: Figures;
  /** Parked events of customers that a team had before. Others possibly never get a team. */
  readonly parkedOfKnownCustomers: number;
  readonly issues: readonly Issue[];
};

type GaugesOptions = {
  readonly queued: () => Queued;
  readonly poolUse: () => PoolUse;
  readonly readHealth: () => Promise<ObservedHealth>;
  readonly now: () => number;
};

const HEALTH_DEADLINE_MS = 1_000;

/** Gauges that are read at the moment of the scrape. An unknown value (`null`) is left out. */
export function createGauges(options: GaugesOptions, clockSkewSeconds: () => number | null) {
  const { queued, poolUse, now } = options;
  const readHealth = sharedHealth(options.readHealth);
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
        'Events waiting for a batch, by queue; the queue blocked is for events that would delay the others.',
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
        'Open issues by code: the number of teams, customers, subscriptions or events that have it. For an issue of the service, 1 or how many it concerns.',
        health === null ? {} : issueCounts(health.issues),
      ),
      gauge(
        'instep_parked_events',
        'Parked events, counted up to 10000: no team has their customer id.',
        figures?.parkedEvents,
      ),
      gauge(
        'instep_known_customer_parked_events',
        'Parked events of customers that once had a team, counted up to 10000.',
        health?.parkedOfKnownCustomers,
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

/** A zero for each code without issues. Whether writes are committed is known to `/readyz` only. */
function issueCounts(issues: readonly Issue[]): Readonly<Record<string, number>> {
  const { 'writes-not-committed': _, ...known } = ISSUES;
  const counts = Object.fromEntries(Object.keys(known).map((code) => [code, 0]));
  for (const { code, count } of issues) counts[code] = count;
  return counts;
}

/** Reads of scrapes at the same time are one, so that they take one connection; `null` when it fails. */
function sharedHealth(readHealth: GaugesOptions['readHealth']) {
  let pending: Promise<ObservedHealth> | null = null;
  return async (): Promise<ObservedHealth | null> => {
    pending ??= readHealth().finally(() => {
      pending = null;
    });
    try {
      return await withDeadline(pending, HEALTH_DEADLINE_MS);
    } catch (error) {
      // The requests that need the database log what is wrong with it.
      if (error instanceof InstepError) return null;
      throw error;
    }
  };
}
