import { randomBytes } from 'node:crypto';
import { createLogger, openInstep, readConfig } from 'instep';
import { findHiddenRows } from 'instep-engine/src/postgres/tables/privileges.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Database, recognizeTables } from '../support/internals/database.ts';
import type { Ingest } from '../support/internals/ingest.ts';
import { addTeam, readTeam, readTeamsOf } from '../support/internals/rows.ts';
import { connect, createDatabase, postgresServers } from '../support/postgres/test-database.ts';
import { linkByMetadata, openPipeline, openWholePipeline } from '../support/service/pipelines.ts';
import { openSettleJobs } from '../support/service/settle-jobs.ts';
import { eventBody, received, receivedEvent } from '../support/stripe/events.ts';

const CUSTOMERS = ['cus_1', 'cus_2', 'cus_3'];

/** Row security on both tables, with a policy for the users that shows all of them. */
const SECURED = `
  alter table users enable row level security;
  alter table teams enable row level security;
  create policy readable on users for select using (true);`;

const ALL = 'using (true) with check (true)';

describe.each(postgresServers)('$name', (server) => {
  const role = `secured_${randomBytes(4).toString('hex')}`;
  let owner: Database;
  let app: Database;
  let url: URL;

  beforeAll(async () => {
    ({ database: owner, url } = await createDatabase(server));
    // The role of the tests has the same name as the schema, so all of its tables are there.
    await owner.query(`
      alter table users set schema public;
      alter table teams set schema public;
      create role ${role} login;
      grant usage on schema instep to ${role};
      grant select, insert, update, delete, truncate on all tables in schema instep to ${role};
      grant usage on all sequences in schema instep to ${role};
      grant select on users to ${role};
      grant select, update on teams to ${role}`);
    url.searchParams.set('user', role);
    app = connect(url);
    for (const customerId of CUSTOMERS) await addTeam(owner.query, { name: 'Team', customerId });
  });
  afterEach(async () => {
    await owner.query(`
      do $$declare one record; begin
        for one in select * from pg_policies loop
          execute format('drop policy %I on %I', one.policyname, one.tablename);
        end loop;
      end$$;
      alter table users disable row level security;
      alter table teams disable row level security`);
  });
  afterAll(async () => {
    await app?.close();
    await owner.query(`drop owned by ${role}; drop role ${role}`);
  });

  const findHidden = async () => findHiddenRows(app.query, await recognizeTables(app.query, {}));

  /** With a short deadline. */
  const ingestSoon: Ingest = (events) => openWholePipeline(app, { timeoutMs: 500 }).ingest(events);

  test.each([
    ['no policy', '', 'all'],
    ['a policy for everyone', `create policy p on teams ${ALL}`, 'none'],
    ['a policy for this role', `create policy p on teams to ${role} ${ALL}`, 'none'],
    ['a policy for another role', `create policy p on teams to pg_monitor ${ALL}`, 'all'],
    ['a policy for reading only', 'create policy p on teams for select using (true)', 'all'],
    [
      'policies for reading and updates',
      `create policy r on teams for select using (true); create policy w on teams for update using (true)`,
      'none',
    ],
    [
      'a policy for updates that shows nothing',
      `create policy r on teams for select using (true);
       create policy w on teams for update with check (true)`,
      'all',
    ],
    ['a condition', `create policy p on teams using (provider_customer_id <> 'cus_2')`, 'some'],
    [
      'a condition beside a policy that shows all rows',
      `create policy p on teams ${ALL};
       create policy q on teams using (provider_customer_id <> 'cus_2')`,
      'none',
    ],
  ])('%s', async (_, policies, expected) => {
    await owner.query(`${SECURED} ${policies}`);
    const hidden = await findHidden();
    const states = hidden.map(({ areAllHidden }) => (areAllHidden ? 'all' : 'some'));
    expect(states).toEqual(expected === 'none' ? [] : [expected]);

    // What the catalog says is what the role can update.
    const updated = await app.query('update teams set plan_name = plan_name returning id');
    expect(updated).toHaveLength({ all: 0, some: 2, none: 3 }[expected] ?? -1);
  });

  test('either statement shows all rows, for another role too', async () => {
    await owner.query('alter table users enable row level security');
    await owner.query('alter table teams enable row level security');
    const recognition = await recognizeTables(owner.query, {});
    expect(await findHiddenRows(owner.query, recognition, role)).toHaveLength(2);
    const hidden = await findHidden();
    for (const { policy } of hidden) await owner.query(policy);
    expect(await findHidden()).toEqual([]);
    await owner.query('drop policy instep on users; drop policy instep on teams');

    await owner.query(hidden[0]?.bypass ?? '');
    expect(await findHidden()).toEqual([]);
    await owner.query(`alter role ${role} nobypassrls`);
  });

  test('no event of a team that can’t be updated gets a 200, and the error names policies', async () => {
    await owner.query(`${SECURED} create policy readable on teams for select using (true)`);
    const settled = await Promise.allSettled(
      CUSTOMERS.map((customerId) => ingestSoon([receivedEvent({ customerId })])),
    );
    for (const one of settled) {
      const message = expect.stringContaining('policy');
      expect(one).toMatchObject({ reason: { code: 'DATABASE_BUSY', message } });
    }
  });

  test('an event whose team is hidden from reading waits until a policy shows it', async () => {
    await owner.query(SECURED);
    const ingest = openPipeline(app);
    const event = receivedEvent({ customerId: 'cus_1' });
    expect(await ingest([event])).toMatchObject([{ outcome: 'parked' }]);
    for (const { policy } of await findHidden()) await owner.query(policy);
    await openSettleJobs(app).parkedEvents(new AbortController().signal);
    const [team] = await readTeamsOf(owner.query, ['cus_1']);
    expect(team?.plan).toMatchObject({ subscriptionStatus: 'active' });
  });

  test('a hidden team delays no other', async () => {
    await owner.query(`${SECURED}
      create policy readable on teams for select using (true);
      create policy writable on teams for update using (provider_customer_id <> 'cus_2')`);
    const [hidden, other] = await Promise.allSettled(
      ['cus_2', 'cus_3'].map((customerId) => ingestSoon([receivedEvent({ customerId })])),
    );
    expect(hidden).toMatchObject({ reason: { code: 'DATABASE_BUSY' } });
    expect(other).toMatchObject({ value: [{ outcome: 'applied' }] });
  });

  test('a start with policies warns, and serves', async () => {
    await owner.query(`${SECURED} create policy p on teams using (provider_customer_id <> 'x')`);
    const config = readConfig({
      STRIPE_SECRET_KEY: 'sk_test_123',
      STRIPE_WEBHOOK_SECRET: 'whsec_123',
      AUTH_SECRET: 'a secret of at least 32 characters',
      DATABASE_URL: url.href,
    });
    let lines = '';
    const logger = createLogger('warn', {
      write(line) {
        lines += line;
      },
    });
    const instep = await openInstep({ config, logger, maintenance: 'off' });
    await instep.close();
    expect(lines).toContain(`create policy instep on public.teams to ${role}`);
  });

  test('a team that a policy hides is not linked by metadata, and holds up no other', async () => {
    await owner.query(`${SECURED}
      create policy readable on teams for select using (true);
      create policy writable on teams for update using (provider_customer_id is not null)`);
    const teamId = await addTeam(owner.query, { name: 'Team', customerId: null });
    const event = JSON.parse(eventBody({ customerId: 'cus_new' }));
    event.data.object.metadata = { teamId: String(teamId) };
    const named = received(JSON.stringify(event));
    expect(await openPipeline(app)([named])).toMatchObject([{ outcome: 'parked' }]);
    await linkByMetadata(app);
    expect(await readTeam(owner.query, teamId)).toMatchObject({ customerId: null });
  });
});
