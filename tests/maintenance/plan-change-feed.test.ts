import fc from 'fast-check';
import { createLogger, type PlanChange, type PlanChangeHandler } from 'instep';
import { addConsumer, jobOf, removeConsumer, replayChange } from 'instep/src/changes/consumers.ts';
import { changesFeature } from 'instep/src/changes/feature.ts';
import { checkHealth } from 'instep-operate/host';
import { expect, onTestFinished, test, vi } from 'vitest';
import { CrashPlan } from '../faults/crash-plan.ts';
import type { Database, Query } from '../support/internals/database.ts';
import { OTHER_FEATURES } from '../support/internals/operations.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';
import { repetitions } from '../support/test-length.ts';

const store = useDatabase(embeddedServer);
const logger = createLogger('silent');
const { signal } = new AbortController();
const health = () =>
  checkHealth({
    ...{ database: store.database, otherFeatures: OTHER_FEATURES },
    ...{ keyMode: null, now: Date.now },
  });
let names = 0;

const newName = () => {
  names += 1;
  return `consumer-${names}`;
};

const WRITE = `
  insert into instep.plan_changes (team_id, cause, subscription_status_after)
  select unnest($1::text[]), 'event', 'active'
  returning id`;

const write = (teamIds: readonly (number | string)[], { query } = store.database) =>
  query<{ id: number }>(WRITE, [teamIds.map(String)]);

function openConsumer(
  handler: PlanChangeHandler,
  { name = newName(), database = store.database }: { name?: string; database?: Database } = {},
) {
  const changes = changesFeature('on-demand');
  changes.start({ database, logger, nonce: newName });
  const feed = changes.onPlanChange(name, handler, { from: 'beginning' });
  return {
    name,
    stop: feed.stop,
    run: async () => {
      for (const job of changes.jobsOnDemand()) await job.run(signal);
    },
  };
}

/** Ends the pauses before the next attempts. */
const makeDue = () =>
  store.database.query('update instep.waiting_plan_changes set retry_at = now()');

/** A transaction that stays open until `commit` is called. */
async function holdOpen<Result>(work: (query: Query) => Promise<Result>) {
  let commit = () => {};
  const released = new Promise<void>((resolve) => {
    commit = resolve;
  });
  let ended: Promise<void> = Promise.resolve();
  const result = await new Promise<Result>((resolve, reject) => {
    ended = store.openAnother().transaction(async (query) => {
      resolve(await work(query));
      await released;
    });
    ended.catch(reject);
  });
  return {
    result,
    async commit() {
      commit();
      await ended;
    },
  };
}

test('a change that is committed after one with a higher id is not skipped', async () => {
  const passed: number[] = [];
  let looks = 0;
  const database: Database = {
    ...store.database,
    query: (statement, values) => {
      if (typeof statement !== 'string' && statement.name === 'read_writers') looks += 1;
      return store.database.query(statement, values);
    },
  };
  const { run } = openConsumer(({ id }) => void passed.push(id), { database });
  await run();
  passed.length = 0;
  const open = await holdOpen((query) => query<{ id: number }>(WRITE, [['1']]));
  const [lower] = open.result;
  const [higher] = await write([2]);
  expect(higher?.id).toBeGreaterThan(lower?.id ?? 0);
  looks = 0;
  const running = run();
  // It has seen the open transaction, and has looked again.
  await vi.waitFor(() => expect(looks).toBeGreaterThan(1));
  expect(passed).toEqual([]);
  await open.commit();
  await running;
  expect(passed).toEqual([lower?.id, higher?.id]);
});

test('a transaction of the app that stays open holds nothing up', async () => {
  const passed: unknown[] = [];
  const { run } = openConsumer(({ teamId }) => void passed.push(teamId));
  await run();
  passed.length = 0;
  const app = await holdOpen(async (query) => {
    await query("insert into teams (name) values ('of an open transaction')");
    await query('select count(*) from instep.plan_changes');
  });
  await write([3]);
  await run();
  expect(passed).toEqual([3]);
  await app.commit();
});

test('a new consumer starts with later changes, or with the oldest', async () => {
  const [row] = await write([4]);
  const now = newName();
  const add = async (name: string, from: 'now' | 'beginning') =>
    (await addConsumer(store.database.query, name, from)).position;
  expect(await add(now, 'now')).toBe(row?.id);
  expect(await add(now, 'beginning')).toBe(row?.id);
  expect(await add(newName(), 'beginning')).toBe(0);
});

test('a name that no consumer can have is refused at once', () => {
  const refused = expect.objectContaining({ code: 'CONSUMER_NAME_INVALID' });
  expect(() => openConsumer(() => undefined, { name: 'not a name' })).toThrow(refused);
});

test('a consumer that is stopped on demand ends after the call in progress', async () => {
  const passed: number[] = [];
  let isBlocked = false;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { run, stop } = openConsumer(async ({ id }) => {
    passed.push(id);
    if (isBlocked) await released;
  });
  await run();
  passed.length = 0;
  isBlocked = true;
  const [row] = await write([6, 7]);
  const running = run();
  await vi.waitFor(() => expect(passed).toEqual([row?.id]));
  let hasStopped = false;
  const stopping = stop().then(() => {
    hasStopped = true;
  });
  await store.database.query('select 1');
  expect(hasStopped).toBe(false);
  release();
  await stopping;
  await running;
  expect(passed).toEqual([row?.id]);
});

test('a call that takes too long has failed, and the changes of other teams go on', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const passed: unknown[] = [];
  const handler = vi.fn(({ teamId }: PlanChange) => {
    if (teamId === 1) return new Promise(() => undefined);
    return passed.push(teamId);
  });
  const { name, run } = openConsumer(handler);
  await store.database.query('truncate instep.plan_changes cascade');
  await write([1, 1, 2]);
  const running = run();
  await vi.waitFor(() => expect(handler).toHaveBeenCalledOnce());
  vi.advanceTimersByTime(10_000);
  await running;
  expect(passed).toEqual([2]);
  const [waiting] = await store.database.query(
    'select failures, error from instep.waiting_plan_changes where job = $1 order by change_id',
    [jobOf(name)],
  );
  expect(waiting).toEqual({ failures: 1, error: 'not done within 10000 ms' });
});

test('a new consumer is not added while a transaction that changes plans stays open', async () => {
  await write([5]);
  const open = await holdOpen((query) => query(WRITE, [['5']]));
  const name = newName();
  await expect(addConsumer(store.database.query, name, 'now')).rejects.toMatchObject({
    code: 'DATABASE_UNAVAILABLE',
  });
  await open.commit();
  const [row] = await write([5]);
  expect(await addConsumer(store.database.query, name, 'now')).toMatchObject({ position: row?.id });
});

test('a change that fails holds up its team alone, in order, and is set aside after 20 failures', async () => {
  const { query } = store.database;
  await query('truncate instep.plan_changes cascade');
  const passed: string[] = [];
  let attempts = 0;
  let isBroken = true;
  const { name, run } = openConsumer(({ teamId, id }) => {
    if (isBroken && teamId === 5) {
      attempts += 1;
      throw new Error('mail refused');
    }
    passed.push(`${teamId} ${id}`);
  });
  const ids = (await write([5, 6, 5, 6])).map(({ id }) => id);
  await run();
  expect(passed).toEqual([`6 ${ids[1]}`, `6 ${ids[3]}`]);
  expect(attempts).toBe(1);
  await run();
  expect(attempts).toBe(1);
  isBroken = false;
  await makeDue();
  await run();
  expect(passed.slice(2)).toEqual([`5 ${ids[0]}`, `5 ${ids[2]}`]);

  isBroken = true;
  const [failing] = await write([5]);
  attempts = 0;
  for (let round = 0; round < 25; round += 1) {
    await run();
    await makeDue();
  }
  expect(attempts).toBe(20);
  const aside = await query(
    'select change_id, failures, error from instep.waiting_plan_changes where job = $1',
    [jobOf(name)],
  );
  expect(aside).toEqual([{ change_id: failing?.id, failures: 20, error: 'mail refused' }]);
  isBroken = false;
  const [later] = await write([5]);
  await run();
  expect(passed.at(-1)).toBe(`5 ${later?.id}`);

  const issues = async () => (await health()).issues;
  expect(await issues()).toContainEqual(expect.objectContaining({ code: 'changes-set-aside' }));
  await expect(replayChange(store.database.query, name, later?.id ?? 0)).rejects.toMatchObject({
    code: 'CHANGE_UNKNOWN',
  });
  await replayChange(store.database.query, name, failing?.id ?? 0);
  await run();
  expect(passed.at(-1)).toBe(`5 ${failing?.id}`);
  expect(await issues()).not.toContainEqual(expect.objectContaining({ code: 'changes-set-aside' }));
});

test('a consumer that is more than a day behind is an issue, until it is removed', async () => {
  const { query } = store.database;
  await query('truncate instep.plan_changes cascade');
  await query("delete from instep.leased_jobs where name like 'plan changes%'");
  const name = newName();
  await addConsumer(store.database.query, name, 'now');
  await write([1]);
  const issues = async () => (await health()).issues.map(({ code }) => code);
  expect(await issues()).not.toContain('consumer-behind');
  await query("update instep.plan_changes set changed_at = now() - interval '25 hours'");
  expect(await issues()).toContain('consumer-behind');
  await removeConsumer(query, name);
  expect(await issues()).not.toContain('consumer-behind');
  expect(
    await query("select name from instep.leased_jobs where name like 'plan changes%'"),
  ).toEqual(expect.not.arrayContaining([{ name: jobOf(name) }]));
});

test('while events are applied by two instances, every change is passed, in order for each team', async () => {
  const { query } = store.database;
  await query('truncate instep.plan_changes cascade');
  const teams = await Promise.all(Array.from({ length: 12 }, () => store.addTeam()));
  const passed: PlanChange[] = [];
  const { run } = openConsumer((change) => void passed.push(change));
  let isOver = false;
  const consuming = (async () => {
    while (!isOver) await run();
  })();
  const instances = [openPipeline(store.database), openPipeline(store.openAnother())];
  for (let createdSeconds = 1; createdSeconds <= 30; createdSeconds += 1) {
    const status = createdSeconds % 2 === 1 ? 'active' : 'canceled';
    const events = teams.map(({ customerId }) =>
      receivedEvent({ customerId, createdSeconds, status }),
    );
    await Promise.all(
      instances.map((ingest, index) => ingest(events.filter((_, n) => n % 2 === index))),
    );
  }
  isOver = true;
  await consuming;
  await run();
  const ids = await query<{ id: number }>('select id from instep.plan_changes order by id');
  expect(ids).toHaveLength(30 * teams.length);
  expectComplete(
    passed,
    ids.map(({ id }) => id),
  );
  expect(passed).toHaveLength(ids.length);
});

/** Whether each team's changes were first passed in the order of their ids, and all of them. */
function expectComplete(passed: readonly PlanChange[], ids: readonly number[]): void {
  const first = [...new Map(passed.map((one) => [one.id, one])).values()];
  expect(first.map(({ id }) => id).sort((one, other) => one - other)).toEqual(ids);
  const last = new Map<unknown, number>();
  for (const { id, teamId } of first) {
    expect(id).toBeGreaterThan(last.get(teamId) ?? 0);
    last.set(teamId, id);
  }
}

test('whichever calls fail, every change is passed, in order for each team', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 5 }), { maxLength: 5 }),
      fc.array(fc.boolean(), { maxLength: 20 }),
      async (batches, failures) => {
        await store.database.query('truncate instep.plan_changes cascade');
        const passed: PlanChange[] = [];
        const failing = failures.values();
        const { run } = openConsumer((change) => {
          if (failing.next().value === true) throw new Error('failed');
          passed.push(change);
        });
        const ids: number[] = [];
        for (const teamIds of batches) {
          ids.push(...(await write(teamIds)).map(({ id }) => id));
          await run();
          await makeDue();
        }
        for (let round = 0; round <= failures.length; round += 1) {
          await run();
          await makeDue();
        }
        expectComplete(passed, ids);
        expect(passed).toHaveLength(ids.length);
      },
    ),
    { numRuns: repetitions(20, 200) },
  );
});

test.each(['before', 'after'] as const)(
  'a process that dies %s any await misses no change, and another one repeats at most one',
  async (side) => {
    const { query } = store.database;
    for (let at = 1, hasCrashed = true; hasCrashed; at += 1) {
      await query('truncate instep.plan_changes cascade');
      const name = newName();
      const passed: PlanChange[] = [];
      const ids = (await write([1, 2, 1, 2])).map(({ id }) => id);
      const plan = new CrashPlan({ at, side });
      const handler = (change: PlanChange) => plan.outside(async () => void passed.push(change));
      const dying = openConsumer(handler, { name, database: plan.database(store.database) });
      await dying.run().catch(() => undefined);
      hasCrashed = plan.isOver;
      // Its lease ends.
      await query("update instep.leased_jobs set held_until = now() - interval '1 second'");
      const other = openConsumer((change) => void passed.push(change), { name });
      await other.run();
      await makeDue();
      await other.run();
      expectComplete(passed, ids);
      expect(passed.length).toBeLessThanOrEqual(ids.length + 1);
      if (!hasCrashed) expect(passed).toHaveLength(ids.length);
    }
  },
);
