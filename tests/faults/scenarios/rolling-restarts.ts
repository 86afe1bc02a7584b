import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { type InstepProcess, startInstep } from '../../support/process/instep-process.ts';
import { startBalancer } from '../balancer.ts';
import { startLoad } from '../load.ts';
import type { Scenario } from '../scenario.ts';

const PAUSE_MS = 100;

export const rollingRestarts: Scenario = {
  fault: 'two servers behind a load balancer that checks /readyz are restarted in turn (SIGTERM)',
  promise: 'no request is refused, and each server exits with 0',
  times: { short: 4, long: 1_000 },
  async run({ times, onProgress }) {
    const { url, database } = await createDatabase();
    const start = () => startInstep({ DATABASE_URL: url.href, SHUTDOWN_DELAY_MS: '300' });
    const servers: InstepProcess[] = [await start(), await start()];
    const balancer = await startBalancer();
    for (const server of servers) await balancer.add(server.url);
    const refusals: (number | string)[] = [];
    const load = await startLoad(database, {
      url: () => balancer.url,
      onRefused: (reason) => refusals.push(reason),
    });
    for (let done = 1; done <= times; done += 1) {
      const next = await start();
      await balancer.add(next.url);
      const old = servers.shift();
      servers.push(next);
      expect(await old?.stop()).toBe(0);
      if (old !== undefined) balancer.remove(old.url);
      await sleep(PAUSE_MS);
      onProgress?.(done);
    }
    await load.finish();
    expect(refusals).toEqual([]);
    for (const server of servers) expect(await server.stop()).toBe(0);
    await balancer.close();
    const figures = await load.audit(database);
    await database.close();
    return { restarts: times, ...figures };
  },
};
