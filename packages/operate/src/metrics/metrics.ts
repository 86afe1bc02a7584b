// What Instep counts and measures, with prom-client. instep.ts loads this when something is going to read it.

import { USER_PATH, WEBHOOK_PATH } from 'instep-engine/http';
import { LOGGED_OUTCOMES, type Queued } from 'instep-engine/log';
import type { PoolUse } from 'instep-engine/postgres';
import { InstepError, type Instrumentation, withDeadline } from 'instep-engine/runtime';
import { HANDLED_TYPES } from 'instep-engine/stripe';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { ISSUES, type Issue } from '../issues/issues.ts';

/** What is read for each scrape. */
export type MetricsSources = {
  readonly queued: () => Queued;
  readonly poolUse: () => PoolUse;
  readonly readIssues: () => Promise<readonly Pick<Issue, 'code' | 'count'>[]>;
};

/** The response of `GET /metrics`. */
export type Exposition = {
  readonly contentType: string;
  /** All metrics in the text format of Prometheus, within a few seconds. */
  expose(): Promise<string>;
};

/** Counts the reports of all parts of this process from now on. */
export function createMetrics(sources: MetricsSources): {
  exposition: Exposition;
  instrumentation: Instrumentation;
} {
  // Not the global one, which can be the app's.
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const instrumentation = instrument(registry);
  const readGauges = addGauges(registry, sources);
  return {
    instrumentation,
    exposition: {
      contentType: registry.contentType,
      async expose() {
        await readGauges();
        return await registry.metrics();
      },
    },
  };
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

/** The counters and histograms. */
function instrument(registry: Registry): Instrumentation {
  const registers = [registry];
  const requests = new Histogram({
    name: 'instep_http_request_duration_seconds',
    help: 'Time from a request to its response, by route and status.',
    labelNames: ['route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const events = new Counter({
    name: 'instep_events_total',
    help: "Signed events by type, outcome and source. delivery: Stripe delivered it. list: it was missed and found in Stripe's list. log: it was replayed, or is a snapshot.",
    labelNames: ['type', 'outcome', 'source'],
    registers,
  });
  const eventFailures = new Counter({
    name: 'instep_event_failures_total',
    help: 'Events that were refused or could not be stored, by error code. Stripe sends them again.',
    labelNames: ['code'],
    registers,
  });
  const deliveryDelays = new Histogram({
    name: 'instep_event_delivery_delay_seconds',
    help: 'Time from the creation of an event at Stripe to its first delivery.',
    buckets: DELAY_BOUNDS,
    registers,
  });
  const signatureFailures = new Counter({
    name: 'instep_signature_failures_total',
    help: 'Webhooks without a valid signature, or with a signature that is too old.',
    registers,
  });
  const batchSizes = new Histogram({
    name: 'instep_batch_events',
    help: 'Events in one batch, by queue.',
    labelNames: ['queue'],
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
    registers,
  });
  const batchDurations = new Histogram({
    name: 'instep_batch_duration_seconds',
    help: 'Duration of the batches of events, by queue.',
    labelNames: ['queue'],
    buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5],
    registers,
  });
  const apiCalls = new Histogram({
    name: 'instep_stripe_api_call_duration_seconds',
    help: 'Duration of calls to the API of Stripe, by path and result: done, a status, timeout, no answer, or other.',
    labelNames: ['path', 'result'],
    buckets: [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15],
    registers,
  });
  const jobs = new Histogram({
    name: 'instep_maintenance_run_duration_seconds',
    help: 'Duration of the runs of maintenance jobs, by job and result.',
    labelNames: ['job', 'result'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600],
    registers,
  });

  // Prometheus sees a rise only between two samples, so the first one of what alerts and charts read is a zero.
  for (const route of [USER_PATH, WEBHOOK_PATH]) {
    for (const status of ['200', '503']) requests.zero({ route, status });
  }
  for (const type of HANDLED_TYPES) {
    for (const outcome of [...LOGGED_OUTCOMES, 'duplicate']) {
      for (const source of ['delivery', 'log', 'list']) events.inc({ type, outcome, source }, 0);
    }
  }
  eventFailures.inc({ code: 'QUEUE_FULL' }, 0);
  const knownJobs = new Set<string>();

  return {
    requestAnswered(route, status, durationMs) {
      requests.observe({ route, status: String(status) }, durationMs / 1_000);
    },
    signatureRejected: () => signatureFailures.inc(),
    eventProcessed({ type, outcome, source, delayMs }) {
      events.inc({ type, outcome, source });
      // Clocks differ, so a delay can be negative, but a sum must not fall.
      if (delayMs !== null) deliveryDelays.observe(Math.max(0, delayMs) / 1_000);
    },
    eventFailed(error) {
      eventFailures.inc({ code: error instanceof InstepError ? error.code : 'other' });
    },
    batchEnded(queue, size, durationMs) {
      batchSizes.observe({ queue }, size);
      batchDurations.observe({ queue }, durationMs / 1_000);
    },
    apiCallEnded(path, result, durationMs) {
      apiCalls.observe({ path, result }, durationMs / 1_000);
    },
    jobEnded(job, result, durationMs) {
      if (!knownJobs.has(job)) jobs.zero({ job, result: 'failed' });
      knownJobs.add(job);
      jobs.observe({ job, result }, durationMs / 1_000);
    },
  };
}

const DEADLINE_MS = 1_000;

/** Adds the gauges. The function that is returned reads their values. */
function addGauges(registry: Registry, sources: MetricsSources): () => Promise<void> {
  const registers = [registry];
  const queuedEvents = new Gauge({
    name: 'instep_queued_events',
    help: 'Events waiting for a batch, by queue; the queue blocked is for events that would delay the others.',
    labelNames: ['queue'],
    registers,
  });
  const connections = new Gauge({
    name: 'instep_database_connections',
    help: 'Database connections in the pool, by state: busy or idle; waiting: what waits for one.',
    labelNames: ['state'],
    registers,
  });
  const databaseUp = new Gauge({
    name: 'instep_database_up',
    help: '1 if the database answered the last query for the issues within a second. The issues need it.',
    registers,
  });
  const issues = new Gauge({
    name: 'instep_issues',
    help: 'Open issues by code: the number of teams, customers or events that have it, and 1 for an issue of the service.',
    labelNames: ['code'],
    registers,
  });
  // Scrapes at the same time share one read.
  let pending: ReturnType<MetricsSources['readIssues']> | null = null;

  async function readIssues() {
    pending ??= sources.readIssues().finally(() => {
      pending = null;
    });
    try {
      return await withDeadline(pending, DEADLINE_MS);
    } catch (error) {
      // The requests that need the database log what is wrong with it.
      if (error instanceof InstepError) return null;
      throw error;
    }
  }

  return async () => {
    const found = await readIssues();
    databaseUp.set(found === null ? 0 : 1);
    issues.reset();
    // A zero for each code without issues, unless they are unknown.
    for (const code of found === null ? [] : Object.keys(ISSUES)) issues.set({ code }, 0);
    for (const { code, count } of found ?? []) issues.set({ code }, count);
    const { ready, blocked } = sources.queued();
    queuedEvents.set({ queue: 'ready' }, ready);
    queuedEvents.set({ queue: 'blocked' }, blocked);
    const { total, idle, waiting } = sources.poolUse();
    connections.set({ state: 'busy' }, total - idle);
    connections.set({ state: 'idle' }, idle);
    connections.set({ state: 'waiting' }, waiting);
  };
}
