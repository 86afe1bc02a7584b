import { addUser } from '../../support/internals/rows.ts';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { sessionCookie } from '../../support/service/session-cookie.ts';
import { floodWithEvents } from '../flood/events.ts';
import { canMeasureUse, useOf } from '../process-use.ts';
import type { Scenario } from '../scenario.ts';

const CONNECTIONS = 32;
const PROFILES_PER_EVENT = 19;
/** The memory for warming up: caches and compiled code. */
const MAX_GROWTH_MB = 100;
/** The number of connections varies; a leak would add one for each of many events. */
const MAX_MORE_FILES = 64;

const USER = { name: 'Ada', email: 'ada@example.com', passwordHash: '', role: 'member' };

export const soak: Scenario = {
  fault: 'the given number of requests are sent, and one in twenty is an event',
  promise: 'open files and memory stay constant',
  times: { short: 10_000, long: 20_000_000 },
  isPossible: canMeasureUse,
  async run({ times, onProgress }) {
    const { url, database } = await createDatabase();
    const server = await startInstep({ DATABASE_URL: url.href });
    const { pid = 0 } = server.process;
    const { id } = await addUser(database.query, USER);
    const load = {
      url: server.url,
      connections: CONNECTIONS,
      profilesPerEvent: PROFILES_PER_EVENT,
      cookie: await sessionCookie(id),
    };
    const warmUp = Math.ceil(times / 10);
    const first = await floodWithEvents(database, {
      ...load,
      requests: warmUp,
      onSent: onProgress,
    });
    const before = useOf(pid);
    const startedAtMs = performance.now();
    const second = await floodWithEvents(database, {
      ...load,
      requests: times - warmUp,
      onSent: (count) => onProgress?.(warmUp + count),
    });
    const seconds = (performance.now() - startedAtMs) / 1_000;
    const after = useOf(pid);
    await server.stop();
    await database.close();

    const odd = [...first.odd, ...second.odd];
    if (odd.length > 0) throw new Error(`${odd.length} odd answers, the first: ${odd[0]}`);
    if (first.broken + second.broken > 0) throw new Error('connections were closed too early');
    if (after.files > before.files + MAX_MORE_FILES) {
      throw new Error(`${before.files} open files have become ${after.files}`);
    }
    if (after.megabytes > before.megabytes + MAX_GROWTH_MB) {
      throw new Error(`${before.megabytes} MB have become ${after.megabytes}`);
    }
    return {
      'requests/s': Math.round((times - warmUp) / seconds),
      'MB resident after a tenth of the time': before.megabytes,
      'MB resident': after.megabytes,
      'open files': after.files,
      profiles: first.profiles + second.profiles,
      acknowledged: first.acknowledged + second.acknowledged,
      lost: 0,
    };
  },
};
