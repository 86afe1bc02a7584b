// The gauges that are read for each scrape: the queues, the connections, and the health of the whole service.

import type { Queued } from 'instep-engine/log';
import type { PoolUse } from 'instep-engine/postgres';
import { InstepError, withDeadline } from 'instep-engine/runtime';
import { Gauge, type Registry } from 'prom-client';
import { ISSUES, type Issue } from '../issues/issues.ts';

/** What is known about the health of the whole service. */
export type ObservedHealth = {
  readonly issues: readonly Pick<Issue, 'code' | 'count'>[];
};

export type GaugeSources = {
  readonly queued: () => Queued;
  readonly poolUse: () => PoolUse;
  readonly readHealth: () => Promise<ObservedHealth>;
};

/** Adds gauges that are read at each scrape. */
export function addGauges(registers: Registry[], sources: GaugeSources): void {
  const { queued, poolUse } = sources;
  const readHealth = sharedHealth(sources.readHealth);
  new Gauge({
    name: 'instep_queued_events',
    help: 'Events waiting for a batch, by queue; the queue blocked is for events that would delay the others.',
    labelNames: ['queue'],
    registers,
    collect() {
      const { ready, blocked } = queued();
      this.set({ queue: 'ready' }, ready);
      this.set({ queue: 'blocked' }, blocked);
    },
  });
  new Gauge({
    name: 'instep_database_connections',
    help: 'Database connections in the pool, by state: busy or idle; waiting: what waits for one.',
    labelNames: ['state'],
    registers,
    collect() {
      const { total, idle, waiting } = poolUse();
      this.set({ state: 'busy' }, total - idle);
      this.set({ state: 'idle' }, idle);
      this.set({ state: 'waiting' }, waiting);
    },
  });
  new Gauge({
    name: 'instep_database_up',
    help: '1 if the database answered the last query for the health gauges within a second. The gauges below need it.',
    registers,
    async collect() {
      this.set((await readHealth()) === null ? 0 : 1);
    },
  });
  new Gauge({
    name: 'instep_issues',
    help: 'Open issues by code: the number of teams, customers or events that have it, and 1 for an issue of the service.',
    labelNames: ['code'],
    registers,
    async collect() {
      const health = await readHealth();
      this.reset();
      if (health === null) return;
      // A zero for each code without issues.
      for (const code of Object.keys(ISSUES)) this.set({ code }, 0);
      for (const { code, count } of health.issues) this.set({ code }, count);
    },
  });
}

const HEALTH_DEADLINE_MS = 1_000;

/** The gauges of a scrape, and scrapes at the same time, share one read, and so one connection; `null` when it fails. */
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
