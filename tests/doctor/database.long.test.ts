import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { startProxy } from '../support/network/tcp-proxy.ts';
import { runInstep } from '../support/process/instep-process.ts';
import { eventBody } from '../support/stripe/events.ts';
import { issuesOf, openExaminedAccount } from '../support/stripe/examined-account.ts';

const isNoEvent = (issue: string) => !issue.startsWith('warning last event');

/** Runs these statements, and returns what the doctor finds afterward. */
async function examineAfter(...statements: string[]) {
  const account = await openExaminedAccount();
  for (const statement of statements) await account.database.query(statement);
  const ended = await account.examine();
  return { ...ended, issues: issuesOf(ended).filter(isNoEvent) };
}

describe('the server', () => {
  test.each(['refuse', 'reset', 'swallow'] as const)(
    'one that can’t be reached (%s) is one failure, and Stripe is still asked',
    async (behavior) => {
      const account = await openExaminedAccount();
      const proxy = await startProxy(account.databaseUrl);
      await proxy.become(behavior);
      const ended = await account.examine({ DATABASE_URL: proxy.url.href });
      await proxy.close();
      expect(ended.hasFailure).toBe(true);
      expect(issuesOf(ended)).toEqual([expect.stringMatching(/^failure database: /)]);
      expect(ended.checks.at(-1)?.advice).toMatch(/in its URL/);
      expect(ended.checks.map(({ name }) => name)).toContain('webhook endpoint');
    },
  );
});

describe('privileges', () => {
  const role = `doctor_${randomBytes(4).toString('hex')}`;

  test('that are missing are named, with the grants to run', async () => {
    const account = await openExaminedAccount();
    const { query } = account.database;
    await account.deliver(eventBody());
    await query(`create role ${role} login`);
    const url = new URL(account.databaseUrl);
    url.searchParams.set('user', role);
    const examine = () => account.examine({ DATABASE_URL: url.href });
    try {
      const nothing = await examine();
      expect(nothing.hasFailure).toBe(true);
      expect(await runInstep(['migrate'], { DATABASE_URL: url.href })).toMatchObject({ code: 1 });
      const lacking = nothing.checks.find(({ name }) => name === 'privileges');
      for (const privilege of [
        'usage on schema instep',
        'select, insert, update, delete, truncate on all tables in schema instep',
        'usage on all sequences in schema instep',
        'subscription_status) on public.teams',
        'deleted_at) on public.users',
      ]) {
        expect(lacking?.result).toContain(privilege);
      }
      // Running the advised grants solves the problem.
      const [, grants = ''] = /^as the owner: (.*)$/.exec(lacking?.advice ?? '') ?? [];
      expect(grants).not.toMatch(/grant create\b/);
      await query(grants);
      expect(await runInstep(['migrate'], { DATABASE_URL: url.href })).toMatchObject({ code: 0 });
      expect(issuesOf(await examine())).toEqual([]);
      // They are all that the service needs, also to delete.
      await query(`
        insert into instep.leased_jobs (name, progress)
        values ('plan changes: mailer', '{"position": 0}')`);
      const removed = await runInstep(['changes', '--consumer', 'mailer', '--remove'], {
        DATABASE_URL: url.href,
      });
      expect(removed).toMatchObject({ code: 0 });
      await query(
        `revoke delete on instep.asked_customers from ${role}; revoke update on teams from ${role}`,
      );
      expect(issuesOf(await examine())).toContain(
        `failure privileges: ${role} lacks select, insert, update, delete, truncate on all tables in schema instep, update ${WRITTEN} on public.teams`,
      );
      await query(`
        grant delete on instep.asked_customers to ${role};
        grant update ${WRITTEN} on public.teams to ${role}`);
    } finally {
      await query(`drop owned by ${role}; drop role ${role}`);
    }
  });
});

test('row level security that hides rows is a failure, and a condition a warning', async () => {
  const account = await openExaminedAccount();
  const { query } = account.database;
  const role = `secured_${randomBytes(4).toString('hex')}`;
  await query(`
    alter table users set schema public;
    alter table teams set schema public;
    create role ${role} login;
    alter table teams enable row level security`);
  const url = new URL(account.databaseUrl);
  url.searchParams.set('user', role);
  const check = async () => {
    const { checks } = await account.examine({ DATABASE_URL: url.href });
    return checks.filter(({ name }) => name === 'row security');
  };
  try {
    const hidden = await check();
    expect(hidden).toMatchObject([{ state: 'failure' }]);
    await query('create policy positive on teams using (id > 0)');
    expect(await check()).toMatchObject([{ state: 'warning' }]);
    // Running the advised statement solves the problem.
    await query(/create policy .*?;/.exec(hidden[0]?.advice ?? '')?.[0] ?? '');
    expect(await check()).toEqual([]);
  } finally {
    await query(`drop owned by ${role}; drop role ${role}`);
  }
});

const WRITTEN =
  '(provider_customer_id, provider_subscription_id, provider_product_id, plan_name, subscription_status)';

describe('the schema', () => {
  test('an older one is a failure', async () => {
    const { checks } = await examineAfter(
      'delete from instep.migrations where version = (select max(version) from instep.migrations)',
    );
    const schema = checks.find(({ name }) => name === 'schema');
    expect(schema).toMatchObject({ state: 'failure' });
    expect(schema?.result).toMatch(/^the database lacks \d{4}_/);
    expect(schema?.advice).toMatch(/instep migrate/);
  });

  test('teams without an index on their customer are a warning', async () => {
    const dropped = 'alter table teams drop constraint teams_provider_customer_id_key';
    const { hasFailure, issues } = await examineAfter(dropped);
    expect(hasFailure).toBe(false);
    expect(issues).toEqual([expect.stringMatching(/^warning users and teams: .* has no index/)]);
    const index = (where: string) =>
      examineAfter(dropped, `create index on teams (provider_customer_id) where ${where}`);
    expect((await index('provider_customer_id is not null')).issues).toEqual([]);
    expect((await index(`plan_name is not null`)).issues).toHaveLength(1);
  });
});
