// The gauges that are read for each scrape: the queues, the connections, and the health of the whole service.

import type { Queued } from 'instep-engine/log';
import type { PoolUse } from 'instep-engine/postgres';
import { InstepError, withDeadline } from 'instep-engine/runtime';
import { Gauge, type Registry } from 'prom-client';
import type { Figures } from '../issues/figures.ts';
import type { Issue } from '../issues/issue.ts';
import { ISSUES } from '../issues/issues.ts';

/** What is known about the health of the whole service. */
export type ObservedHealth = {
  readonly figures: Pick<Figures, 'lastDeliveredMs'>;
  readonly issues: readonly Issue[];
};

export type GaugeSources = {
  readonly queued: () => Queued;
  readonly poolUse: () => PoolUse;
  readonly readHealth: () => Promise<ObservedHealth>;
  readonly now: () => number;
};

const HEALTH_DEADLINE_MS = 1_000;

/** Returns a function that reads all of them. */
export function createGauges(registers: Registry[], sources: GaugeSources): () => Promise<void> {
  const gauges = registerGauges(registers);
  const readHealth = sharedHealth(sources.readHealth);
  return async () => {
    const health = await readHealth();
    const { ready, blocked, limit } = sources.queued();
    gauges.queued.set({ queue: 'ready' }, ready);
    gauges.queued.set({ queue: 'blocked' }, blocked);
    gauges.queueLimit.set(limit);
    const { total, idle, waiting } = sources.poolUse();
    gauges.connections.set({ state: 'busy' }, total - idle);
    gauges.connections.set({ state: 'idle' }, idle);
    gauges.waiters.set(waiting);
    gauges.databaseUp.set(health === null ? 0 : 1);
    setIssues(gauges.issues, health);
    const lastMs = health?.figures.lastDeliveredMs ?? null;
    // An unknown value is left out.
    if (lastMs === null) gauges.lastEventAge.remove();
    else gauges.lastEventAge.set(Math.max(0, sources.now() - lastMs) / 1_000);
  };
}

/** A zero for each code without issues. */
function setIssues(gauge: Gauge<'code'>, health: ObservedHealth | null): void {
  gauge.reset();
  if (health === null) return;
  for (const code of Object.keys(ISSUES)) gauge.set({ code }, 0);
  for (const { code, count } of health.issues) gauge.set({ code }, count);
}

/** Reads of scrapes at the same time are one, so that they take one connection; `null` when it fails. */
function sharedHealth(readHealth: GaugeSources['readHealth']) {
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

function registerGauges(registers: Registry[]) {
  return {
    queued: new Gauge({
      name: 'instep_queued_events',
      help: 'Events waiting for a batch, by queue; the queue blocked is for events that would delay the others.',
      labelNames: ['queue'],
      registers,
    }),
    queueLimit: new Gauge({
      name: 'instep_queued_events_limit',
      help: 'Number of events that can wait in the queue ready. Further events get a 503.',
      registers,
    }),
    connections: new Gauge({
      name: 'instep_database_connections',
      help: 'Database connections in the pool, by state: busy or idle.',
      labelNames: ['state'],
      registers,
    }),
    waiters: new Gauge({
      name: 'instep_database_connection_waiters',
      help: 'Statements and transactions waiting for a connection from the pool.',
      registers,
    }),
    databaseUp: new Gauge({
      name: 'instep_database_up',
      help: '1 if the database answered the last query for the health gauges within a second. The gauges below need it.',
      registers,
    }),
    issues: new Gauge({
      name: 'instep_issues',
      help: 'Open issues by code: the number of teams, customers, subscriptions or events that have it. For an issue of the service, 1 or how many it concerns.',
      labelNames: ['code'],
      registers,
    }),
    lastEventAge: new Gauge({
      name: 'instep_last_event_age_seconds',
      help: 'Time since Stripe last delivered an event that is in the log.',
      registers,
    }),
  };
}
