import { addConsumer } from 'instep/src/changes/consumers.ts';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { createDatabase } from '../support/postgres/test-database.ts';
import { runInstep, spawnInstep } from '../support/process/instep-process.ts';
import { API_KEY } from '../support/secrets/test-secrets.ts';

const { database, url } = await createDatabase();
const { query } = database;
afterAll(() => database.close());
beforeEach(() => query('truncate instep.plan_changes, instep.plan_change_consumers cascade'));

const environment = { DATABASE_URL: url.href, STRIPE_SECRET_KEY: API_KEY };
const CONSUMER = ['changes', '--consumer', 'mailer'];

async function write(teamId: number): Promise<number> {
  const [row] = await query<{ id: number }>(
    `insert into instep.plan_changes (team_id, cause, subscription_status_after)
     values ($1, 'event', 'active') returning id`,
    [String(teamId)],
  );
  return row?.id ?? 0;
}

const position = async () =>
  (await query<{ position: number }>('select position from instep.plan_change_consumers'))[0]
    ?.position;

/** Follows the changes of one consumer, and gets the ids of those that are done. */
function follow() {
  const args = [...CONSUMER, '--from', 'beginning', '--follow', '--json', '--ack'];
  const instep = spawnInstep(args, environment, { hasInput: true });
  return {
    ...instep,
    acknowledge: (id: unknown) => instep.process.stdin?.write(`${id}\n`),
    instep,
  };
}

test('one process follows the changes, and acknowledges those that it is told', async () => {
  const first = await write(7);
  const { instep, acknowledge, writes } = follow();
  await writes(new RegExp(`"id":${first},.*\n`));
  expect(await position()).toBe(0);
  acknowledge(first);
  await vi.waitFor(async () => expect(await position()).toBe(first), { timeout: 20_000 });
  const second = await write(8);
  await writes(new RegExp(`"id":${second},.*\n`));
  expect(await instep.stop('SIGTERM')).toBe(0);
  const printed = instep.stdout.trim().split('\n');
  expect(printed.map((line) => JSON.parse(line).teamId)).toEqual([7, 8]);
  expect(instep.stderr).toBe('');
  const { stdout } = await runInstep([...CONSUMER, '--json'], environment);
  expect(JSON.parse(stdout).id).toBe(second);
});

test.each(['seven', 4_711])('ends at an id that it can not acknowledge (%s)', async (id) => {
  const first = await write(7);
  const { instep, acknowledge, writes } = follow();
  await writes(new RegExp(`"id":${first},`));
  acknowledge(id);
  expect(await instep.exited).toBe(1);
  expect(instep.stderr).toMatch(/^instep: .*\n$/);
  expect(instep.stderr).toContain('CHANGE_UNKNOWN');
  expect(await position()).toBe(0);
});

test('passes on a change that was set aside, again', async () => {
  const id = await write(7);
  await addConsumer(query, 'mailer', 'now');
  await query(
    `insert into instep.waiting_plan_changes
            (change_id, consumer, team_id, failures, error, retry_at, set_aside_at)
     values ($1, 'mailer', '7', 20, 'mail refused', now(), now())`,
    [id],
  );
  const replay = (change: number) =>
    runInstep([...CONSUMER, '--replay', String(change)], environment);
  const waiting = () =>
    query('select failures, set_aside_at from instep.waiting_plan_changes order by change_id');
  expect((await replay(id + 1)).stderr).toContain('CHANGE_UNKNOWN');
  expect(await waiting()).toMatchObject([{ failures: 20 }]);
  expect(await replay(id)).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await waiting()).toEqual([{ failures: 0, set_aside_at: null }]);
  const again = await replay(id);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('CHANGE_UNKNOWN')]);
});
