import { setTimeout as sleep } from 'node:timers/promises';
import { startInstep } from '../../support/instep-process.ts';
import { createDatabase } from '../../support/test-database.ts';
import { floodWithEvents } from '../flood/events.ts';
import { percentile } from '../percentile.ts';
import { canTellUse, useOf } from '../process-use.ts';
import type { Scenario } from '../scenario.ts';

/** As many senders as keep it busy, and many times as many that never wait. */
const ENOUGH = 64;
const TOO_MANY = 2_000;
const CALM_MS = 3_000;
const PROFILE_INTERVAL_MS = 50;
/** Thousands of connections take some; what is not bounded would take more within seconds. */
const MAX_MB = 512;

export const overload: Scenario = {
  fault: 'for so many seconds 2,000 senders that repeat at once whatever is refused',
  promise:
    'what is accepted has its turn soon, the rest is told to come again, profiles are answered, memory stays',
  times: { short: 5, long: 60 },
  isPossible: canTellUse,
  async run({ times, onProgress }) {
    const { url, database } = await createDatabase();
    const server = await startInstep({ DATABASE_URL: url.href });
    const { pid = 0 } = server.process;
    const calm = { url: server.url, connections: ENOUGH, durationMs: CALM_MS };
    const before = await floodWithEvents(database, calm);

    const durationMs = times * 1_000;
    const flooding = floodWithEvents(database, { ...calm, connections: TOO_MANY, durationMs });
    const profilesMs: number[] = [];
    const refusedProfiles: number[] = [];
    let megabytes = 0;
    for (const endsAtMs = performance.now() + durationMs; performance.now() < endsAtMs; ) {
      const startedAtMs = performance.now();
      const { status } = await fetch(`${server.url}/api/user`);
      profilesMs.push(performance.now() - startedAtMs);
      if (status !== 200) refusedProfiles.push(status);
      megabytes = Math.max(megabytes, useOf(pid).megabytes);
      onProgress?.(times - Math.max(0, Math.ceil((endsAtMs - performance.now()) / 1_000)));
      await sleep(PROFILE_INTERVAL_MS);
    }
    const { acknowledged, acceptedMs, refusedMs, broken, odd } = await flooding;
    const after = await floodWithEvents(database, calm);
    await server.stop();
    await database.close();

    if (odd.length > 0) throw new Error(`${odd.length} odd answers, the first: ${odd[0]}`);
    if (refusedProfiles.length > 0) throw new Error(`${refusedProfiles.length} profiles refused`);
    if (refusedMs.length === 0) throw new Error('nothing was refused: it was not too much');
    if (megabytes > MAX_MB) throw new Error(`it took ${megabytes} MB`);
    return {
      'acknowledged/s before': Math.round((before.acknowledged * 1_000) / CALM_MS),
      'acknowledged/s meanwhile': Math.round(acknowledged / times),
      'acknowledged/s after': Math.round((after.acknowledged * 1_000) / CALM_MS),
      'refused/s': Math.round(refusedMs.length / times),
      'ms p99 of the accepted': percentile(acceptedMs, 99),
      'ms p99 of the refused': percentile(refusedMs, 99),
      'ms p99 of profiles': percentile(profilesMs, 99),
      'connections broken': broken,
      'MB resident at most': megabytes,
      acknowledged: before.acknowledged + acknowledged + after.acknowledged,
      lost: 0,
    };
  },
};
