import { addConsumer, jobOf } from 'instep/src/changes/consumers.ts';
import { beforeEach, expect, test } from 'vitest';
import { createDatabase } from '../support/postgres/test-database.ts';
import { runInstep } from '../support/process/instep-process.ts';
import { API_KEY } from '../support/secrets/test-secrets.ts';

const { database, url } = await createDatabase();
const { query } = database;
beforeEach(async () => {
  await query('truncate instep.plan_changes cascade');
  await query("delete from instep.leased_jobs where name like 'plan changes%'");
});

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

test('shows how far a consumer is, and forgets it', async () => {
  await addConsumer(query, 'mailer', 'now');
  const list = async () => (await runInstep(['changes', '--json'], environment)).stdout;
  expect(JSON.parse(await list())).toMatchObject({
    ...{ name: 'mailer', behindSince: null, setAside: [] },
  });
  expect(await runInstep([...CONSUMER, '--remove'], environment)).toMatchObject({ code: 0 });
  expect(await list()).toBe('');
  const { code, stderr } = await runInstep([...CONSUMER, '--remove'], environment);
  expect([code, stderr]).toEqual([1, expect.stringContaining('CONSUMER_UNKNOWN')]);
});

test('passes on a change that was set aside, again', async () => {
  const id = await write(7);
  await addConsumer(query, 'mailer', 'now');
  await query(
    `insert into instep.waiting_plan_changes
            (change_id, job, team_id, failures, error, retry_at, set_aside_at)
     values ($1, $2, '7', 20, 'mail refused', now(), now())`,
    [id, jobOf('mailer')],
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
