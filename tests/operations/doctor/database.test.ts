import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { startProxy } from '../../support/network/tcp-proxy.ts';
import { runInstep } from '../../support/process/instep-process.ts';
import { eventBody } from '../../support/stripe/events.ts';
import { openExaminedAccount, troublesOf } from '../../support/stripe/examined-account.ts';

const isNoEvent = (trouble: string) => !trouble.startsWith('warning last event');

/** Runs these statements, and tells what is not ok after them. */
async function examineAfter(...statements: string[]) {
  const account = await openExaminedAccount();
  for (const statement of statements) await account.database.query(statement);
  const ended = await account.examine();
  return { ...ended, troubles: troublesOf(ended).filter(isNoEvent) };
}

describe('the server', () => {
  test.each(['refuse', 'reset', 'swallow'] as const)(
    'one that cannot be reached (%s) is one failure, and Stripe is asked all the same',
    async (behaviour) => {
      const account = await openExaminedAccount();
      const proxy = await startProxy(account.databaseUrl);
      await proxy.become(behaviour);
      const ended = await account.examine({ DATABASE_URL: proxy.url.href });
      await proxy.close();
      expect(ended.code).toBe(1);
      expect(troublesOf(ended)).toEqual([expect.stringMatching(/^failure database: /)]);
      expect(ended.checks.at(-1)?.advice).toMatch(/DATABASE_URL/);
      expect(ended.checks.map(({ name }) => name)).toContain('webhook endpoint');
    },
  );

  test('one that is far away is a warning', async () => {
    const account = await openExaminedAccount();
    const proxy = await startProxy(account.databaseUrl, { slowMs: 60 });
    await proxy.become('slow');
    const ended = await account.examine({ DATABASE_URL: proxy.url.href });
    await proxy.close();
    expect(troublesOf(ended).filter(isNoEvent)).toEqual([
      expect.stringMatching(/^warning database: answers within \d+\.\d ms, /),
    ]);
  });

  test('an unknown database is a failure', async () => {
    const account = await openExaminedAccount();
    const url = new URL(account.databaseUrl);
    url.pathname = '/nowhere';
    expect(troublesOf(await account.examine({ DATABASE_URL: url.href }))).toEqual([
      'failure database: database "nowhere" does not exist',
    ]);
  });

  test('one that answers before it has stored is a failure', async () => {
    const { code, troubles } = await examineAfter(
      `do $$ begin execute format('alter database %I set synchronous_commit = off',
                                  current_database()); end $$`,
    );
    expect(code).toBe(1);
    expect(troubles).toEqual([expect.stringMatching(/^failure durability: synchronous_commit/)]);
  });
});

describe('privileges', () => {
  const role = `doctor_${randomBytes(4).toString('hex')}`;

  test('that are lacking are named, with the grants that repair it', async () => {
    const account = await openExaminedAccount();
    const { query } = account.database;
    await account.deliver(eventBody());
    // The role of the tests has the name of the schema, and therefore all of its tables there.
    await query('alter table users set schema public; alter table teams set schema public');
    await query(`create role ${role} login`);
    const url = new URL(account.databaseUrl);
    url.searchParams.set('user', role);
    const examine = () => account.examine({ DATABASE_URL: url.href });
    try {
      const nothing = await examine();
      expect(nothing.code).toBe(1);
      expect(await runInstep(['migrate'], { DATABASE_URL: url.href })).toMatchObject({ code: 1 });
      const lacking = nothing.checks.find(({ name }) => name === 'privileges');
      for (const privilege of [
        'usage on schema instep',
        'insert on instep.events',
        'usage on sequence instep.events_position_seq',
        'delete on instep.events',
        'truncate on instep.listed_subscriptions',
        'update on teams',
        'select on users',
      ]) {
        expect(lacking?.finding).toContain(privilege);
      }
      // What it finding is what helps.
      const [, grants = ''] = /^as the owner: (.*)$/.exec(lacking?.advice ?? '') ?? [];
      expect(grants).not.toContain('create');
      await query(grants);
      expect(await runInstep(['migrate'], { DATABASE_URL: url.href })).toMatchObject({ code: 0 });
      expect(troublesOf(await examine())).toEqual([expect.stringContaining('parked events')]);
      await query(
        `revoke truncate on instep.listed_subscriptions from ${role}; revoke update on teams from ${role}`,
      );
      expect(troublesOf(await examine())).toContain(
        `failure privileges: ${role} lacks truncate on instep.listed_subscriptions, update on teams`,
      );
    } finally {
      await query(`drop owned by ${role}; drop role ${role}`);
    }
  });
});

describe('the schema', () => {
  test('a newer one is a failure, and the log is not looked into', async () => {
    const { troubles } = await examineAfter(
      `insert into instep.migrations (version, name) values (9999, 'tomorrow')`,
    );
    expect(troubles).toEqual([
      expect.stringMatching(/^failure schema: the database is at migration 9999/),
      expect.stringMatching(/^warning event log: not checked/),
    ]);
  });

  test('an older one is a failure', async () => {
    const { checks } = await examineAfter(
      'delete from instep.migrations where version = (select max(version) from instep.migrations)',
    );
    const schema = checks.find(({ name }) => name === 'schema');
    expect(schema).toMatchObject({ state: 'failure' });
    expect(schema?.finding).toMatch(/^the database lacks \d{4}_/);
    expect(schema?.advice).toMatch(/instep migrate/);
  });

  test('tables of the application that do not fit are a failure', async () => {
    const { troubles } = await examineAfter(
      'alter table teams drop column plan_name; alter table users drop column role',
    );
    expect(troubles).toEqual([
      'failure users and teams: users.role (text) is missing; teams.plan_name (text) is missing',
    ]);
  });

  test('teams without an index on their customer are a warning', async () => {
    const dropped = 'alter table teams drop constraint teams_provider_customer_id_key';
    const { code, troubles } = await examineAfter(dropped);
    expect(code).toBe(0);
    expect(troubles).toEqual([expect.stringMatching(/^warning users and teams: .* has no index/)]);
    const index = (where: string) =>
      examineAfter(dropped, `create index on teams (provider_customer_id) where ${where}`);
    expect((await index('provider_customer_id is not null')).troubles).toEqual([]);
    expect((await index(`plan_name is not null`)).troubles).toHaveLength(1);
  });

  test('a view in the place of the teams is no trouble', async () => {
    const { troubles } = await examineAfter(
      'alter table teams rename to companies; create view teams as select * from companies',
    );
    expect(troubles).toEqual([]);
  });
});
