import { expect } from 'vitest';
import type { Database } from '../support/internals/database.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import {
  type InstepOptions,
  type InstepProcess,
  startInstep,
} from '../support/process/instep-process.ts';
import { startBalancer } from './balancer.ts';
import type { Figures } from './load.ts';
import { expectServed, startRegularTraffic } from './regular-traffic.ts';

export type BalancedServers = {
  readonly database: Database;
  /** The running servers, the oldest one first. */
  readonly running: readonly InstepProcess[];
  /** Starts another server, and waits until it gets requests. */
  start(options?: InstepOptions): Promise<void>;
  /** Stops the oldest server, which must exit with 0. */
  stopOldest(): Promise<void>;
  /** Waits for this many more acknowledged events. */
  untilMore(count: number): Promise<unknown>;
  /** Ends everything. Throws if a request was refused, or an event lost. */
  finish(): Promise<Figures & { readonly profiles: number }>;
};

const SENDERS = 8;

/** Starts two servers behind a load balancer that checks `/readyz`, and sends events and profiles to it. */
export async function startBalancedServers(): Promise<BalancedServers> {
  const { url, database } = await createDatabase();
  const balancer = await startBalancer();
  const running: InstepProcess[] = [];

  async function start(options?: InstepOptions): Promise<void> {
    const environment = { DATABASE_URL: url.href, SHUTDOWN_DELAY_MS: '1000' };
    const server = await startInstep(environment, options);
    running.push(server);
    await balancer.add(server.url);
  }

  async function stopOldest(): Promise<void> {
    const oldest = running.shift();
    expect(await oldest?.stop()).toBe(0);
    if (oldest !== undefined) balancer.remove(oldest.url);
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
      expectServed(traffic.attempts, 100);
      while (running.length > 0) await stopOldest();
      await balancer.close();
      const figures = await traffic.audit();
      await database.close();
      const profiles = traffic.attempts.filter(({ what }) => what === 'profile').length;
      return { profiles, ...figures };
    },
  };
}
