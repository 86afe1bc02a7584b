import { LOGGED_OUTCOMES } from '../core/subscription-event.ts';
import { InstepError } from '../runtime/errors.ts';
import type { Instrumentation } from '../runtime/instrumentation.ts';
import { USER_PATH } from '../server/http-message.ts';
import { WEBHOOK_PATH } from '../server/webhook.ts';
import { HANDLED_TYPES } from '../stripe/parse-event.ts';
import { createGauges, type GaugesOptions } from './gauges.ts';
import { readProcessMetrics } from './process-metrics.ts';
import { Counter, createExposition, type Exposition, Histogram } from './series.ts';

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
    batchSizes: new Histogram(
      'instep_batch_events',
      'Events in one transaction, by queue.',
      [1, 2, 5, 10, 20, 50, 100, 200, 500],
    ),
    batchDurations: new Histogram(
      'instep_batch_duration_seconds',
      'Duration of the transactions that apply events, by queue.',
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
  deliveryDelays.declare();

  let clockSkewSeconds: number | null = null;
  const readGauges = createGauges(options, () => clockSkewSeconds);

  return {
    ...createExposition(async () => {
      const read = await Promise.all([readGauges(), readProcessMetrics()]);
      return [...Object.values(series).map((one) => one.read()), ...read.flat()];
    }),
    requestAnswered(route, status, durationMs) {
      requests.observe(durationMs / 1_000, { route, status: String(status) });
    },
    signatureMatched(timestampSeconds) {
      clockSkewSeconds = options.now() / 1_000 - timestampSeconds;
    },
    signatureRejected: () => series.signatureFailures.increase(),
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
