import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { LoggedOutcome } from 'instep/src/core/subscription-event.ts';
import {
  DELAY_BOUNDS_SECONDS,
  NO_DELAY,
  readStatistics,
  SLOTS_SECONDS,
  type SlotSeconds,
  type StatisticsRow,
} from 'instep/src/maintenance/statistics.ts';
import type { Database, Work } from 'instep/src/postgres/database.ts';
import { type LogEntry, logEvents } from 'instep/src/postgres/statements/events.ts';
import { Stopped } from 'instep/src/runtime/retry.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { sumStatistics } from '../support/service/leased-jobs.ts';
import { repetitions } from '../support/test-length.ts';

const { signal } = new AbortController();
const RUNS = repetitions(5, 20);
const NOW_MS = 1_800_000_000_000;
const OUTCOMES = ['applied', 'stale', 'unchanged', 'parked', 'unreadable'] as const;

/** The age up to which slots of each length are compared, which is less than is kept. */
const SINCE_MS = { 60: 60 * 60_000, 900: 86_400_000, 7200: 7 * 86_400_000 } as const;

const anyEvent = fc.record({
  /** How long ago it was received. */
  ageMs: fc.oneof(
    fc.nat({ max: 3_500_000 }),
    fc.nat({ max: 86_000_000 }),
    fc.nat({ max: 700_000_000 }),
  ),
  delaySeconds: fc.option(fc.integer({ min: -5, max: 4_000_000 })),
  deliveries: fc.constantFrom(1, 1, 1, 0),
  outcome: fc.constantFrom(...OUTCOMES),
});

type AnyEvent = typeof anyEvent extends fc.Arbitrary<infer Event> ? Event : never;

const anyAction = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('log' as const),
      events: fc.array(anyEvent, { minLength: 1, maxLength: 6 }),
      /** The number of actions after which it commits. */
      commitsAfter: fc.nat({ max: 3 }),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ kind: 'sum' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'sum concurrently' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('crash' as const),
      at: fc.integer({ min: 1, max: 9 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('decide' as const),
      outcome: fc.constantFrom('applied', 'stale', 'unchanged'),
      share: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'prune' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'lose statistics' as const }) },
);

function entryOf({ ageMs, delaySeconds, deliveries, outcome }: AnyEvent): LogEntry {
  const receivedAtMs = NOW_MS - ageMs;
  return {
    position: null,
    key: randomUUID(),
    eventId: null,
    type: 'customer.subscription.updated',
    customerId: 'cus_1',
    subscriptionId: 'sub_1',
    createdSeconds: delaySeconds === null ? null : Math.floor(receivedAtMs / 1_000) - delaySeconds,
    receivedAtMs,
    outcome,
    body: new Uint8Array(),
    deliveries,
  };
}

/** A clock that advances by 6 seconds with each reading, so that no deadline is far. */
function createFastClock(): () => number {
  let ms = 0;
  return () => {
    ms += 6_000;
    return ms;
  };
}

/** A row of the log. Pruned rows still count, because the events did arrive. */
type LogRow = {
  position: number;
  received_at: Date;
  created_at: Date | null;
  deliveries: number;
  outcome: LoggedOutcome;
};

const COLUMNS = 'position, received_at, created_at, deliveries, outcome';

async function empty({ query }: Database): Promise<void> {
  await query('truncate instep.events, instep.statistics, instep.statistics_parked');
  await query(`update instep.leased_jobs set progress = null where name = 'statistics'`);
}

const readRows = ({ query }: Database) => query<LogRow>(`select ${COLUMNS} from instep.events`);

/** Prunes some of the events that are already in the sums. Returns their rows. */
async function pruneSummed({ query }: Database): Promise<LogRow[]> {
  return await query<LogRow>(
    `delete from instep.events
      using instep.leased_jobs as job
      where job.name = 'statistics'
        and position <= (job.progress ->> 'upTo')::bigint
        and position % 2 = 0
        and outcome <> 'parked'
        and position not in (select position from instep.statistics_parked)
        and exists (select from instep.statistics)
     returning ${COLUMNS}`,
  );
}

function bucketOf({ received_at, created_at, deliveries }: LogRow): number {
  if (created_at === null || deliveries === 0) return NO_DELAY;
  const seconds = (received_at.getTime() - created_at.getTime()) / 1_000;
  const bucket = DELAY_BOUNDS_SECONDS.findIndex((bound) => seconds < bound);
  return bucket === -1 ? DELAY_BOUNDS_SECONDS.length - 1 : bucket;
}

/** Inserts events without a commit. Returns a function that commits them. */
async function logUncommitted(database: Database, entries: readonly LogEntry[]) {
  return await new Promise<() => Promise<void>>((resolve, reject) => {
    const ended = database.transaction(async (query) => {
      await logEvents(query, entries);
      await new Promise<void>((proceed) => {
        resolve(async () => {
          proceed();
          await ended;
        });
      });
    });
    ended.catch(reject);
  });
}

class Crash extends Error {}

/** A database whose transactions fail at the statement with this number. */
function crashingAt(database: Database, at: number): Database {
  return {
    ...database,
    transaction: <Result>(work: Work<Result>) =>
      database.transaction(async (query, atCommit) => {
        let count = 0;
        return await work(async (statement, values) => {
          count += 1;
          if (count === at) throw new Crash();
          return await query(statement, values);
        }, atCommit);
      }),
  };
}

function expectCrash(error: unknown): void {
  expect(error).toBeInstanceOf(Crash);
}

const sorted = (figures: readonly StatisticsRow[]) =>
  figures.map((figure) => JSON.stringify(figure, Object.keys(figure).sort())).sort();

/** Logs events that are evenly distributed over the last 6 days. */
async function logMany({ query }: Database, count: number): Promise<void> {
  await query(
    `insert into instep.events (key, type, created_at, received_at, deliveries, outcome, body)
     select gen_random_uuid(), 'customer.subscription.updated', $1::timestamptz, at, 1, 'applied', ''
       from generate_series(1, $2) as number
      cross join lateral (select $1::timestamptz + number / $2::numeric * interval '6 days' as at) as received`,
    [new Date(NOW_MS - 6 * 86_400_000), count],
  );
}

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);

  beforeEach(() => empty(store.database));

  const sumLog = (database: Database, clockMs = () => 0, now = () => NOW_MS) =>
    sumStatistics({ database, now, clockMs }, signal);

  /** Sums the whole log. The first run possibly only creates the row that it locks. */
  async function sumLogTwice(): Promise<void> {
    await sumLog(store.database);
    await sumLog(store.database);
  }

  const shown = (slotSeconds: SlotSeconds) =>
    readStatistics(store.database.query, { slotSeconds, sinceMs: NOW_MS - SINCE_MS[slotSeconds] });

  /** The expected statistics, counted from the log and its pruned rows. */
  async function expectedFigures(
    slotSeconds: SlotSeconds,
    pruned: readonly LogRow[],
  ): Promise<StatisticsRow[]> {
    const counts = new Map<string, StatisticsRow>();
    for (const row of [...(await readRows(store.database)), ...pruned]) {
      const receivedAtMs = row.received_at.getTime();
      const startsAtMs = receivedAtMs - (receivedAtMs % (slotSeconds * 1_000));
      if (startsAtMs < NOW_MS - SINCE_MS[slotSeconds]) continue;
      const { outcome } = row;
      const delayBucket = bucketOf(row);
      const place = [startsAtMs, outcome, delayBucket].join();
      const count = (counts.get(place)?.count ?? 0) + 1;
      counts.set(place, { startsAtMs, outcome, delayBucket, count });
    }
    return [...counts.values()];
  }

  test('the statistics equal the log after any actions in any order', async () => {
    const other = store.openAnother();
    const property = fc.asyncProperty(
      fc.array(anyAction, { minLength: 5, maxLength: 25 }),
      async (actions) => {
        await empty(store.database);
        let pruned: LogRow[] = [];
        const open: { commitsAt: number; commit: () => Promise<void> }[] = [];
        const clockMs = createFastClock();
        for (const [turn, action] of actions.entries()) {
          for (const { commit } of open.filter(({ commitsAt }) => commitsAt === turn)) {
            await commit();
          }
          switch (action.kind) {
            case 'log': {
              const commit = await logUncommitted(other, action.events.map(entryOf));
              open.push({ commitsAt: turn + action.commitsAfter + 1, commit });
              break;
            }
            case 'sum':
              await sumLog(store.database, clockMs);
              break;
            case 'sum concurrently':
              await Promise.all([sumLog(store.database, clockMs), sumLog(other, clockMs)]);
              break;
            case 'crash':
              await sumLog(crashingAt(store.database, action.at), clockMs).catch(expectCrash);
              break;
            case 'decide':
              await store.database.query(
                `update instep.events
                    set outcome = $1
                  where outcome = 'parked'
                    and position % $2 = 0`,
                [action.outcome, action.share],
              );
              break;
            case 'prune':
              pruned.push(...(await pruneSummed(store.database)));
              break;
            case 'lose statistics':
              await store.database.query(
                `update instep.leased_jobs set progress = null where name = 'statistics'`,
              );
              pruned = [];
              break;
          }
        }
        for (const { commit } of open) await commit();
        await sumLogTwice();
        for (const slotSeconds of SLOTS_SECONDS) {
          const { rows, isComplete } = await shown(slotSeconds);
          const expected = await expectedFigures(slotSeconds, pruned);
          expect(isComplete).toBe(true);
          expect(sorted(rows)).toEqual(sorted(expected));
        }
      },
    );
    await fc.assert(property, { numRuns: RUNS });
  });

  const totals = async (slotSeconds: SlotSeconds) => {
    const { rows, isComplete } = await shown(slotSeconds);
    const total = (outcome: LoggedOutcome) =>
      rows.reduce((sum, one) => sum + (one.outcome === outcome ? one.count : 0), 0);
    return { applied: total('applied'), parked: total('parked'), isComplete };
  };

  test('events that are not in the statistics yet are counted', async () => {
    const log = (event: Partial<AnyEvent>) =>
      logEvents(store.database.query, [
        entryOf({ ageMs: 0, delaySeconds: 3, deliveries: 1, outcome: 'applied', ...event }),
      ]);
    await log({});
    for (const slotSeconds of SLOTS_SECONDS) {
      expect(await totals(slotSeconds)).toEqual({ applied: 1, parked: 0, isComplete: true });
    }
    await sumLogTwice();
    await log({ ageMs: 50_000 });
    await log({ outcome: 'parked' });
    for (const slotSeconds of SLOTS_SECONDS) {
      expect(await totals(slotSeconds)).toEqual({ applied: 2, parked: 1, isComplete: true });
    }
  });

  test('examines parked events in turn, however many wait', async () => {
    const waiting = { ageMs: 0, delaySeconds: 3, deliveries: 1, outcome: 'parked' } as const;
    const entries = Array.from({ length: 2_500 }, () => entryOf(waiting));
    await logEvents(store.database.query, entries);
    await sumLogTwice();
    expect(await totals(60)).toMatchObject({ applied: 0, parked: 2_500 });
    await store.database.query(
      `update instep.events set outcome = 'applied'
        where position = (select min(position) from instep.events)`,
    );
    await sumLog(store.database);
    expect(await totals(60)).toMatchObject({ applied: 0, parked: 2_500 });
    for (let run = 0; run < 2; run += 1) await sumLog(store.database);
    expect(await totals(60)).toMatchObject({ applied: 1, parked: 2_499 });
  });

  test('adds a long log step by step, shows its newest events meanwhile, and reports until it is complete', async () => {
    await logMany(store.database, 75_000);
    const options = { database: store.database, now: () => NOW_MS, clockMs: () => 0 };
    const sumSteps = async (count: number) => {
      // With this signal, each call is one step.
      for (let step = 0; step < count; step += 1) await sumStatistics(options, AbortSignal.abort());
    };
    await sumSteps(2);
    expect(await totals(7_200)).toEqual({ applied: 70_000, parked: 0, isComplete: false });
    expect((await shown(60)).rows.at(-1)?.startsAtMs).toBe(NOW_MS);
    await sumSteps(6);
    expect(await totals(7_200)).toEqual({ applied: 75_000, parked: 0, isComplete: true });
  });

  test('begins with the oldest events that are shown', async () => {
    const old = { delaySeconds: 3, deliveries: 1, outcome: 'applied' } as const;
    const ages = [12 * 86_400_000, 11 * 86_400_000, 60_000];
    const entries = ages.map((ageMs) => entryOf({ ...old, ageMs }));
    await logEvents(store.database.query, entries);
    await sumLogTwice();
    expect(await totals(7_200)).toEqual({ applied: 1, parked: 0, isComplete: true });
    const [{ count } = { count: 0 }] = await store.database.query<{ count: number }>(
      'select sum(count)::integer as count from instep.statistics where slot_seconds = 7200',
    );
    expect(count).toBe(1);
  });

  test('a run whose lease another instance has taken over adds nothing', async () => {
    const { database } = store;
    await logMany(database, 3);
    const takenOver: Database = {
      ...database,
      async transaction(work, ...rest) {
        await database.query(`update instep.leased_jobs set holder = 'other'`);
        return await database.transaction(work, ...rest);
      },
    };
    await expect(sumLog(takenOver)).rejects.toThrow(Stopped);
    expect(await database.query('select from instep.statistics')).toEqual([]);
    await database.query('update instep.leased_jobs set holder = null, held_until = null');
    await sumLogTwice();
    expect(await totals(7_200)).toEqual({ applied: 3, parked: 0, isComplete: true });
  });

  test('a parked event that was decided and pruned at once no longer counts', async () => {
    await logEvents(store.database.query, [
      entryOf({ ageMs: 0, delaySeconds: 3, deliveries: 1, outcome: 'parked' }),
    ]);
    await sumLogTwice();
    expect(await totals(60)).toMatchObject({ parked: 1 });
    await store.database.query('delete from instep.events');
    await sumLogTwice();
    expect(await totals(60)).toMatchObject({ applied: 0, parked: 0 });
  });

  test('deletes statistics that are too old to be shown', async () => {
    await logEvents(
      store.database.query,
      OUTCOMES.map((outcome) => entryOf({ ageMs: 0, delaySeconds: 3, deliveries: 1, outcome })),
    );
    await sumLogTwice();
    await sumLog(store.database, undefined, () => NOW_MS + 11 * 86_400_000);
    for (const table of ['statistics', 'statistics_parked']) {
      expect(await store.database.query(`select from instep.${table}`)).toEqual([]);
    }
  });
});
