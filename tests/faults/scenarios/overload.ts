import { readFileSync } from 'node:fs';
import type { Database } from '../../support/internals/database.ts';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { type EventFlood, floodWithEvents } from '../flood/events.ts';
import { percentile } from '../percentile.ts';
import { expectServed, slowestMs, startRegularTraffic } from '../regular-traffic.ts';
import type { Scenario } from '../scenario.ts';

/** Enough connections and events to keep the server busy, so that it acknowledges as many as it can. */
const ENOUGH = { connections: 64, ratePerSecond: 20_000 };
const CALM_MS = 3_000;
/** The factor of the overload. Each event uses a connection without a pending answer. */
const TIMES_TOO_MUCH = 10;
const MAX_CONNECTIONS = 4_096;
/** Thousands of connections need some memory, but an unbounded queue would exceed this within seconds. */
const MAX_MB = 512;

/**
 * A trigger lowers the rate that the server can process, as any application's trigger can. A refusal
 * takes a quarter of an event's time, so no process can refuse ten times what one core processes
 * (docs/decisions/0009).
 */
export const overload: Scenario = {
  fault:
    'ten times as many events as the server can process are sent for the given number of seconds, ' +
    'without waiting for responses; a trigger on the teams table takes 1 ms per row',
  promise:
    'accepted events are stored within 1 second, others are refused within 100 ms, profile ' +
    'requests are answered almost as fast as before, memory stays bounded, and the rate recovers ' +
    'immediately',
  times: { short: 4, long: 60 },
  isPossible: () => process.platform === 'linux',
  async run({ times: seconds, onProgress }) {
    const { url: databaseUrl, database } = await createDatabase();
    await slowTeams(database);
    const server = await startInstep({ DATABASE_URL: databaseUrl.href });
    const { url } = server;
    const calm = { url, ...ENOUGH, durationMs: CALM_MS };

    // The first events compile code and plan statements.
    await floodWithEvents(database, calm);
    const calmReaders = await startRegularTraffic(database, url, 0);
    const before = await floodWithEvents(database, calm);
    await calmReaders.finish();

    const megabytes: number[] = [];
    const watch = setInterval(() => {
      megabytes.push(megabytesOf(server.process.pid ?? 0));
      onProgress?.(Math.min(seconds, megabytes.length));
    }, 1_000);
    const readers = await startRegularTraffic(database, url, 0);
    const flood = await floodWithEvents(database, {
      url,
      connections: MAX_CONNECTIONS,
      durationMs: seconds * 1_000,
      ratePerSecond: TIMES_TOO_MUCH * perSecond(before),
    });
    await readers.finish();
    clearInterval(watch);
    const after = await floodWithEvents(database, calm);
    await server.stop();
    await database.close();

    const odd = [before, flood, after].flatMap((one) => one.odd);
    const mostMegabytes = Math.max(...megabytes);
    if (odd.length > 0) throw new Error(`${odd.length} odd answers, the first: ${odd[0]}`);
    if (flood.unanswered > 0) throw new Error(`${flood.unanswered} events got no answer`);
    // Events that took too long also get a 503.
    if (!server.lines.some((line) => line.includes('QUEUE_FULL'))) {
      throw new Error('nothing was refused by admission: the flood was too small');
    }
    if (mostMegabytes > MAX_MB) throw new Error(`it took ${mostMegabytes} MB`);
    expectServed(readers.attempts, 100);
    return {
      'events/s processed before the overload': Math.round(perSecond(before)),
      'events/s sent': Math.round(flood.sent / seconds),
      'events not sent because no connection was free': flood.unsent,
      'events/s acknowledged': Math.round(flood.acknowledged / seconds),
      'events/s refused': Math.round(flood.refusedMs.length / seconds),
      'events/s processed after the overload': Math.round(perSecond(after)),
      'ms p99 of accepted events': percentile(flood.acceptedMs, 99),
      'ms p99 of refused events': percentile(flood.refusedMs, 99),
      'ms p99 of profiles before the overload': slowestMs(calmReaders.attempts),
      'ms p99 of profiles during the overload': slowestMs(readers.attempts),
      'connections broken': flood.broken,
      'MB resident after a tenth of the time': megabytes[Math.floor(megabytes.length / 10)] ?? 0,
      'MB resident at most': mostMegabytes,
      acknowledged: before.acknowledged + flood.acknowledged + after.acknowledged,
      lost: 0,
    };
  },
};

const perSecond = ({ acknowledged }: EventFlood) => (acknowledged * 1_000) / CALM_MS;

/** The private memory of a process. */
function megabytesOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(status) ?? [];
  return Math.round(Number(kilobytes) / 1_024);
}

async function slowTeams(database: Database): Promise<void> {
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
}
