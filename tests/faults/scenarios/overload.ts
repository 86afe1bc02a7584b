import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { startLoad } from '../load.ts';
import { expectServed, startRegularTraffic } from '../regular-traffic.ts';
import { type Scenario, turnsOf } from '../scenario.ts';

/** Each has one event under way, and repeats it soon after a refusal. */
const SENDERS = 400;
/** An unbounded queue would exceed this within seconds. */
const MAX_MB = 512;

export const overload: Scenario = {
  fault:
    `${SENDERS} senders post events, and repeat refused ones at once, for the given number of ` +
    'seconds; a trigger on the teams table takes 1 ms per row',
  promise:
    'what is refused gets a 503, what is acknowledged is stored, profile requests are served, ' +
    'memory stays bounded, and nothing is refused once the load is normal again',
  times: { short: 4, long: 60 },
  isPossible: () => process.platform === 'linux',
  async run(options) {
    const { url: databaseUrl, database } = await createDatabase();
    await database.query(`
      create function take_time() returns trigger language plpgsql as $$
      begin
        perform pg_sleep(0.001);
        return new;
      end
      $$;
      create trigger takes_time
        before update on teams
        for each row execute function take_time()`);
    const server = await startInstep({ DATABASE_URL: databaseUrl.href, MAX_QUEUED_EVENTS: '100' });
    const url = () => server.url;
    const load = await startLoad(database, { url, senders: SENDERS, teams: SENDERS });
    const readers = await startRegularTraffic(database, server.url, 0);
    let mostMegabytes = 0;
    for (const _ of turnsOf(options)) {
      await sleep(1_000);
      mostMegabytes = Math.max(mostMegabytes, megabytesOf(server.process.pid ?? 0));
    }
    await Promise.all([load.finish(), readers.finish()]);
    const calm = await startLoad(database, { url, senders: 2 });
    await calm.untilMore(50);
    await calm.finish();
    const after = await calm.audit(database);
    const figures = await load.audit(database);
    await server.stop();
    await database.close();

    expect([...load.refusals]).toEqual([503]);
    expect(server.lines.some((line) => line.includes('QUEUE_FULL'))).toBe(true);
    expect(after.repeated).toBe(0);
    expect(mostMegabytes).toBeLessThan(MAX_MB);
    expectServed(readers.attempts);
    return { ...figures, 'MB resident at most': mostMegabytes };
  },
};

/** The private memory of a process. */
function megabytesOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(status) ?? [];
  return Math.round(Number(kilobytes) / 1_024);
}
