// The engine reads a customer, decides in memory, and writes. Here, others act in between.

import { expect, test } from 'vitest';
import type { Database } from '../support/internals/database.ts';
import { addTeam } from '../support/internals/rows.ts';
import { withMeanwhile } from '../support/postgres/observed-database.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { NO_PLAN } from '../support/service/contract-service.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { findDifferences } from '../support/service/rebuilding.ts';
import { eventBody, received, receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
const run = (text: string, values: readonly unknown[] = []) => store.database.query(text, values);

/** An instance that has read its next batch when others do this. */
const instance = (meanwhile: () => Promise<unknown>) =>
  openPipeline(withMeanwhile(store.database, meanwhile));

test('an event that one instance would park is decided once if its customer is linked meanwhile', async () => {
  const customerId = store.newCustomer();
  const undated = { ...JSON.parse(eventBody({ customerId })), created: null };
  const event = (receivedAtMs: number) => received(JSON.stringify(undated), receivedAtMs);
  const other = openPipeline(store.openAnother());
  let teamId = 0;
  const ingest = instance(async () => {
    teamId = Number(await addTeam(store.database.query, { name: 'Linked', customerId }));
    await other([event(1_700_000_000_000)]);
  });
  const [result] = await ingest([event(1_700_000_060_000)]);
  expect(result).toMatchObject({ outcome: 'duplicate', teamIds: [teamId] });
  expect(await store.logOf(customerId)).toMatchObject([{ outcome: 'applied', deliveries: 2 }]);
  expect(await findDifferences(store.database, teamId)).toEqual([]);
});

const CHANGES = {
  'is deleted': 'delete from teams where id = $1',
  'leaves its customer': 'update teams set provider_customer_id = null where id = $1',
};

test.each(Object.entries(CHANGES))('a team that %s meanwhile gets no plan', async (_, change) => {
  const { teamId, customerId } = await store.addTeam();
  const [result] = await instance(() => run(change, [teamId]))([receivedEvent({ customerId })]);
  expect(result).toMatchObject({ outcome: 'parked', teamIds: [] });
  expect((await store.planOf(teamId)) ?? NO_PLAN).toEqual(NO_PLAN);
  expect(await run('select from instep.plan_changes where team_id = $1', [String(teamId)])).toEqual(
    [],
  );
});

const MIGRATIONS = {
  'alters the type of a column': [
    'alter table teams alter column plan_name type varchar(80)',
    'alter table teams alter column plan_name type text',
  ],
  'adds a column of a plan': [
    'alter table teams add column current_period_ends_at timestamptz',
    'alter table teams drop column current_period_ends_at',
  ],
} as const;

test.each(Object.entries(MIGRATIONS))(
  'an event is stored although the application %s meanwhile, and after that is undone',
  async (_, [migrate, undo]) => {
    const database: Database = store.openAnother();
    const ingestOne = async (meanwhile: string | null) => {
      const { teamId, customerId } = await store.addTeam();
      const changed = withMeanwhile(database, async () => meanwhile && run(meanwhile));
      const [result] = await openPipeline(changed)([receivedEvent({ customerId })]);
      expect(result).toMatchObject({ outcome: 'applied', teamIds: [teamId] });
    };
    await ingestOne(null);
    await ingestOne(migrate);
    await ingestOne(null);
    await ingestOne(undo);
    await ingestOne(null);
  },
);
