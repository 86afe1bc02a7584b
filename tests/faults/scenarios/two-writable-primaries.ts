import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { join, PROMOTE, startPair, urlOfBoth } from '../../support/postgres/primary-and-standby.ts';
import { connect } from '../../support/postgres/test-database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { startLoad } from '../load.ts';
import { addSignedIn, readProfile } from '../regular-traffic.ts';
import type { Scenario } from '../scenario.ts';

const STALE_MS = 3_000;
/** Tolerates a machine that is busy with other tests. */
const MARGIN_MS = 3_000;
const POLL_MS = 20;
/** Acknowledged events after each step, so that the step lasts a while. */
const MORE = 20;

export const twoWritablePrimaries: Scenario = {
  fault:
    'the synchronous standby is promoted and a user is deleted there, while the old primary stays ' +
    'up and accepts writes; then the new primary restarts',
  promise:
    'nothing acknowledged is lost, no profile is more than 3 s out of date, and Instep never ' +
    'returns to the old primary',
  times: { short: 1, long: 50 },
  async run({ times, onProgress }) {
    let [primary, standby] = await startPair();
    const server = await startInstep({ DATABASE_URL: urlOfBoth(primary, standby) });
    const first = connect(primary.url);
    const load = await startLoad(first, { url: () => server.url });
    await first.close();
    let slowestMs = 0;
    let stalestMs = 0;
    try {
      for (let done = 1; done <= times; done += 1) {
        const before = connect(primary.url);
        const { id, cookie } = await addSignedIn(before);
        await before.close();
        const read = () => readProfile(server.url, cookie, id);
        expect(await read()).toBe(200);

        await standby.ask(PROMOTE);
        while ((await standby.ask('select where pg_is_in_recovery()')).length > 0)
          await sleep(POLL_MS);
        const promotedAtMs = Date.now();
        await standby.ask(`update users set deleted_at = now() where id = ${id}`);
        const deletedAtMs = Date.now();
        for (let startedAtMs = deletedAtMs; (await read()) === 200; startedAtMs = Date.now()) {
          stalestMs = Math.max(stalestMs, startedAtMs - deletedAtMs);
          if (stalestMs > STALE_MS + MARGIN_MS) throw new Error('the deleted user is still let in');
          await sleep(POLL_MS);
        }
        await load.untilMore(1);
        slowestMs = Math.max(slowestMs, Date.now() - promotedAtMs);
        await load.untilMore(MORE);
        expect(await read()).not.toBe(200);

        await standby.end('SIGINT');
        await load.untilRefused();
        expect(await read()).not.toBe(200);
        await standby.start();
        await load.untilMore(MORE);
        expect(await read()).not.toBe(200);

        [primary, standby] = [standby, primary];
        await join(primary, standby);
        onProgress?.(done);
      }
      await load.finish();
      await server.stop();
      const database = connect(primary.url);
      const figures = await load.audit(database);
      await database.close();
      return {
        promotions: times,
        ...figures,
        'ms at most until the next write': slowestMs,
        'ms at most from the deletion of a user to the last profile': stalestMs,
      };
    } finally {
      server.process.kill('SIGKILL');
      await primary.remove();
      await standby.remove();
    }
  },
};
