import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Database } from '../support/internals/database.ts';
import { startHttpProxy } from '../support/network/http-proxy.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { type InstepProcess, startInstep } from '../support/process/instep-process.ts';
import type { Figures } from './load.ts';
import { expectServed, startRegularTraffic } from './regular-traffic.ts';

export type BalancedServers = {
  readonly database: Database;
  /** The running servers, the oldest one first. */
  readonly running: readonly InstepProcess[];
  /** Starts another server, and waits until it gets requests. */
  start(): Promise<void>;
  /** Stops the oldest server, which must exit with 0. */
  stopOldest(): Promise<void>;
  /** Waits for this many more acknowledged events. */
  untilMore(count: number): Promise<void>;
  /** Ends everything. Throws if a request was refused, or an event lost. */
  finish(): Promise<Figures>;
};

const SENDERS = 8;
const ASK_INTERVAL_MS = 50;

/** Starts two servers behind a load balancer that checks `/readyz`, and sends events and profiles to it. */
export async function startBalancedServers(): Promise<BalancedServers> {
  const { url, database } = await createDatabase();
  const running: InstepProcess[] = [];
  /** Whether each server was ready at the last check. */
  const isReady = new Map<string, boolean>();
  let turn = 0;
  const balancer = await startHttpProxy(() => {
    const ready = running.filter((server) => isReady.get(server.url));
    turn += 1;
    return ready[turn % ready.length]?.url;
  });
  const asking = setInterval(() => {
    for (const server of isReady.keys()) void ask(server);
  }, ASK_INTERVAL_MS);

  async function ask(server: string): Promise<void> {
    const answer = await fetch(`${server}/readyz`).catch(() => null);
    if (isReady.has(server)) isReady.set(server, answer?.status === 200);
  }

  async function start(): Promise<void> {
    const server = await startInstep({ DATABASE_URL: url.href, SHUTDOWN_DELAY_MS: '1000' });
    running.push(server);
    isReady.set(server.url, false);
    while (isReady.get(server.url) === false) await sleep(ASK_INTERVAL_MS);
  }

  async function stopOldest(): Promise<void> {
    const oldest = running[0];
    expect(await oldest?.stop()).toBe(0);
    running.shift();
    if (oldest !== undefined) isReady.delete(oldest.url);
  }

  await start();
  await start();
  const traffic = await startRegularTraffic(database, balancer.url, SENDERS);
  return {
    database,
    running,
    start,
    stopOldest,
    untilMore: traffic.untilMore,
    async finish() {
      await traffic.finish();
      expectServed(traffic.attempts);
      while (running.length > 0) await stopOldest();
      clearInterval(asking);
      await balancer.close();
      const figures = await traffic.audit();
      await database.close();
      return figures;
    },
  };
}
