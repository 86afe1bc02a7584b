// What Instep counts and measures, with prom-client. instep.ts loads this when something is going to read it.

import { USER_PATH, WEBHOOK_PATH } from 'instep-engine/http';
import { LOGGED_OUTCOMES } from 'instep-engine/log';
import { InstepError, type Instrumentation } from 'instep-engine/runtime';
import { HANDLED_TYPES } from 'instep-engine/stripe';
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import { addGauges, type GaugeSources } from './gauges.ts';

export type { GaugeSources, ObservedHealth } from './gauges.ts';

/** The response of `GET /metrics`. */
export type Exposition = {
  readonly contentType: string;
  /** All metrics in the text format of Prometheus, within a few seconds. */
  expose(): Promise<string>;
};

/** Counts the reports of all parts of this process from now on. */
export function createMetrics(sources: GaugeSources): {
  exposition: Exposition;
  instrumentation: Instrumentation;
} {
  // Not the global one, which can be the app's.
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const instrumentation = createInstrumentation([registry]);
  addGauges([registry], sources);
  const { contentType } = registry;
  return { instrumentation, exposition: { contentType, expose: () => registry.metrics() } };
}

function createInstrumentation(registers: Registry[]): Instrumentation {
  const series = createSeries(registers);
  addZeros(series);
  const { deliveryDelays, batchSizes, batchDurations } = series;
  const knownJobs = new Set<string>();

  return {
    requestAnswered(route, status, durationMs) {
      series.requests.observe({ route, status: String(status) }, durationMs / 1_000);
    },
    signatureRejected: () => series.signatureFailures.inc(),
    eventProcessed({ type, outcome, source, delayMs }) {
      series.events.inc({ type, outcome, source });
      // Clocks differ, so a delay can be negative, but a sum must not fall.
      if (delayMs !== null) deliveryDelays.observe(Math.max(0, delayMs) / 1_000);
    },
    eventFailed(error) {
      series.eventFailures.inc({ code: error instanceof InstepError ? error.code : 'other' });
    },
    batchEnded(queue, size, durationMs) {
      batchSizes.observe({ queue }, size);
      batchDurations.observe({ queue }, durationMs / 1_000);
    },
    apiCallEnded(path, result, durationMs) {
      series.apiCalls.observe({ path, result }, durationMs / 1_000);
    },
    jobEnded(job, result, durationMs) {
      if (!knownJobs.has(job)) series.jobs.zero({ job, result: 'failed' });
      knownJobs.add(job);
      series.jobs.observe({ job, result }, durationMs / 1_000);
    },
  };
}

const SOURCES = ['delivery', 'log', 'list'];
const OUTCOMES = [...LOGGED_OUTCOMES, 'duplicate'];

/** Prometheus sees a rise only between two samples, so the first one of what alerts and charts read is a zero. */
function addZeros(series: ReturnType<typeof createSeries>): void {
  for (const route of [USER_PATH, WEBHOOK_PATH]) {
    for (const status of ['200', '503']) series.requests.zero({ route, status });
  }
  for (const type of HANDLED_TYPES) {
    for (const outcome of OUTCOMES) {
      for (const source of SOURCES) series.events.inc({ type, outcome, source }, 0);
    }
  }
  series.eventFailures.inc({ code: 'QUEUE_FULL' }, 0);
}

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

function createSeries(registers: Registry[]) {
  return {
    requests: new Histogram({
      name: 'instep_http_request_duration_seconds',
      help: 'Time from a request to its response, by route and status.',
      labelNames: ['route', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    events: new Counter({
      name: 'instep_events_total',
      help: "Signed events by type, outcome and source. delivery: Stripe delivered it. list: it was missed and found in Stripe's list. log: it was replayed, or is a snapshot.",
      labelNames: ['type', 'outcome', 'source'],
      registers,
    }),
    eventFailures: new Counter({
      name: 'instep_event_failures_total',
      help: 'Events that were refused or could not be stored, by error code. Stripe sends them again.',
      labelNames: ['code'],
      registers,
    }),
    deliveryDelays: new Histogram({
      name: 'instep_event_delivery_delay_seconds',
      help: 'Time from the creation of an event at Stripe to its first delivery.',
      buckets: DELAY_BOUNDS,
      registers,
    }),
    signatureFailures: new Counter({
      name: 'instep_signature_failures_total',
      help: 'Webhooks without a valid signature, or with a signature that is too old.',
      registers,
    }),
    batchSizes: new Histogram({
      name: 'instep_batch_events',
      help: 'Events in one batch, by queue.',
      labelNames: ['queue'],
      buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
      registers,
    }),
    batchDurations: new Histogram({
      name: 'instep_batch_duration_seconds',
      help: 'Duration of the batches of events, by queue.',
      labelNames: ['queue'],
      buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5],
      registers,
    }),
    apiCalls: new Histogram({
      name: 'instep_stripe_api_call_duration_seconds',
      help: 'Duration of calls to the API of Stripe, by path and result: done, a status, timeout, or no answer.',
      labelNames: ['path', 'result'],
      buckets: [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15],
      registers,
    }),
    jobs: new Histogram({
      name: 'instep_maintenance_run_duration_seconds',
      help: 'Duration of the runs of maintenance jobs, by job and result.',
      labelNames: ['job', 'result'],
      buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600],
      registers,
    }),
  };
}
