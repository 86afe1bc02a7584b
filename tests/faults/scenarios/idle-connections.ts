import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { createFlood, type Flood } from '../flood/flood.ts';
import { canMeasureUse, useOf } from '../process-use.ts';
import { expectServed, shareServed, slowestMs, startRegularTraffic } from '../regular-traffic.ts';
import type { Scenario } from '../scenario.ts';

const ASK = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
const AGAIN_MS = 3_500;
const HELD_MS = 1_000;
const OPENED_AT_ONCE = 50;
/** More open files than this at the end were left behind. */
const OTHERS = 100;
/** The memory for warming up, and per connection. */
const MAX_GROWTH_MB = 100;
const MAX_KILOBYTES = 24;
/** Longer than the server's idle timeout. */
const GIVE_UP_AFTER_MS = 200_000;

export const idleConnections: Scenario = {
  fault:
    'the given number of connections stay open after their first response and send a request ' +
    'now and then',
  promise:
    'none of them is closed as long as it sends requests, 99.9% of other requests are served, ' +
    'memory stays bounded, and once the connections stop sending, they are closed and leave ' +
    'nothing behind',
  times: { short: 500, long: 9_900 },
  isPossible: canMeasureUse,
  async run({ times: count, onProgress }) {
    const { url, database } = await createDatabase();
    const server = await startInstep({ DATABASE_URL: url.href });
    const { pid = 0 } = server.process;
    const regular = await startRegularTraffic(database, server.url);
    await regular.untilMore(100);
    const before = useOf(pid);

    const flood = createFlood(server.url);
    await flood.open({ count, texts: [ASK], again: AGAIN_MS, atOnce: OPENED_AT_ONCE });
    await sleep(HELD_MS);
    const { open, answered } = await flood.state();
    const held = useOf(pid);
    await flood.quiet();
    await untilEnded(flood, (left) => onProgress?.(Math.max(0, count - left)));
    await regular.finish();
    const after = useOf(pid);
    await flood.end();
    await server.stop();
    const figures = await regular.audit();
    await database.close();

    const others = Object.keys(answered).filter((status) => status !== '200');
    if (others.length > 0) throw new Error(`answered ${others.join(', ')}`);
    if (open < count) throw new Error(`${open} of ${count} were kept`);
    const growthMb = held.megabytes - before.megabytes;
    if (growthMb > MAX_GROWTH_MB + (count * MAX_KILOBYTES) / 1_024) {
      throw new Error(`${before.megabytes} MB have become ${held.megabytes}`);
    }
    if (after.files > before.files + OTHERS) {
      throw new Error(`${before.files} open files have become ${after.files}`);
    }
    expectServed(regular.attempts, 99.9);
    return {
      'idle connections': count,
      'kB per connection': Math.max(0, Math.round((growthMb * 1_024) / count)),
      'connections left': 0,
      'other requests': regular.attempts.length,
      '% of these served': shareServed(regular.attempts),
      'ms p99': slowestMs(regular.attempts),
      ...figures,
    };
  },
};

async function untilEnded(flood: Flood, onLeft: (left: number) => void): Promise<void> {
  const giveUpAtMs = Date.now() + GIVE_UP_AFTER_MS;
  for (;;) {
    const { open } = await flood.state();
    onLeft(open);
    if (open === 0) return;
    if (Date.now() > giveUpAtMs) throw new Error(`${open} idle connections are still open`);
    await sleep(100);
  }
}
