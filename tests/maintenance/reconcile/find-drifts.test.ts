import { findDrifts } from 'instep-engine/src/repair/reconcile/reconcile-teams.ts';
import pg from 'pg';
import { expect, test } from 'vitest';
import { openDatabase } from '../../support/internals/database.ts';
import { type LinkedTeam, readTeamsOf } from '../../support/internals/rows.ts';
import { lockTeam, whileHeld } from '../../support/postgres/locks.ts';
import { embeddedServer } from '../../support/postgres/test-database.ts';
import { useDatabase } from '../../support/service/ingest-service.ts';
import { openPipeline } from '../../support/service/pipelines.ts';
import { receivedEvent } from '../../support/stripe/events.ts';

const store = useDatabase(embeddedServer);

const find = (teams: readonly LinkedTeam[], database = store.database) =>
  findDrifts(teams, [], {
    database,
    nameOf: async () => null,
    now: Date.now,
    planSelection: 'newest',
  });

const teamsOf = (customerId: string) => readTeamsOf(store.database.query, [customerId]);

async function followingTeam() {
  const team = await store.addTeam();
  const ingest = openPipeline(store.database);
  await ingest([receivedEvent({ customerId: team.customerId, status: 'trialing' })]);
  return { ...team, ingest };
}

async function teamChangedByHand() {
  const { teamId, customerId } = await followingTeam();
  await store.database.query(`update teams set subscription_status = 'unpaid' where id = $1`, [
    teamId,
  ]);
  return { teamId, customerId };
}

test("drift is found through the app's own pool, where each transaction begins with our settings", async () => {
  const { customerId } = await teamChangedByHand();
  const pool = new pg.Pool({ connectionString: store.url.href });
  const database = openDatabase({
    ...{ connection: pool, maxConnections: 1, statementTimeoutMs: 5_000 },
    onConnectionError: () => undefined,
  });
  const found = await find(await teamsOf(customerId), database).finally(() => pool.end());
  expect(found).toMatchObject([{ cause: 'changed by hand' }]);
});

test('an event applied between reading the team and its subscriptions is not drift', async () => {
  const { customerId, ingest } = await followingTeam();
  const before = await teamsOf(customerId);
  await ingest([receivedEvent({ customerId, status: 'active' })]);
  expect(await find(before)).toEqual([]);
});

test('a team that another transaction has locked is compared, too', async () => {
  const { teamId, customerId } = await teamChangedByHand();
  await whileHeld(store.openAnother(), lockTeam(teamId), async () => {
    expect(await find(await teamsOf(customerId))).toMatchObject([{ cause: 'changed by hand' }]);
  });
  expect(await find(await teamsOf(customerId))).toMatchObject([{ cause: 'changed by hand' }]);
});
