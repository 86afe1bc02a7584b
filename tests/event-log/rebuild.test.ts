import type { RebuildFailure } from 'instep/operate';
import { expect, test } from 'vitest';
import { readAccess } from '../support/internals/access.ts';
import { pruneLog } from '../support/internals/repair.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { rebuildTeams } from '../support/service/rebuilding.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);

test('a team that refuses its plan keeps no other from being rebuilt', async () => {
  const { query } = store.database;
  const ingest = openPipeline(store.database);
  const teams = [await store.addTeam(), await store.addTeam(), await store.addTeam()];
  for (const { customerId } of teams) await ingest([receivedEvent({ customerId })]);
  const plans = await Promise.all(teams.map(({ teamId }) => store.planOf(teamId)));
  await query(
    'update teams set provider_subscription_id = null, provider_product_id = null, plan_name = null, subscription_status = null',
  );
  const [refusing] = teams;
  await query(`
    create function refuse() returns trigger language plpgsql as
    $$ begin raise 'not this team' using errcode = '55000'; end $$;
    create trigger refuse before update on teams
       for each row when (old.id = ${refusing?.teamId}) execute function refuse()`);

  const failures: RebuildFailure[] = [];
  const onFailure = (failure: RebuildFailure) => failures.push(failure);
  const rebuilt = await rebuildTeams(store.database, { onFailure });
  expect(rebuilt.map(({ customerId }) => customerId)).toEqual(
    teams.slice(1).map(({ customerId }) => customerId),
  );
  expect(failures).toMatchObject([
    { customerId: refusing?.customerId, error: { code: 'DATABASE_REFUSED' } },
  ]);
  const restored = await Promise.all(teams.slice(1).map(({ teamId }) => store.planOf(teamId)));
  expect(restored).toEqual(plans.slice(1));
  await expect(rebuildTeams(store.database)).rejects.toMatchObject({
    code: 'DATABASE_REFUSED',
  });
  await query('drop trigger refuse on teams');
});

test('a pruned log still yields since when a status goes on', async () => {
  const { query } = store.database;
  const { teamId, customerId } = await store.addTeam();
  const ingest = openPipeline(store.database);
  const statuses = ['past_due', 'past_due', 'active', 'active', 'active', 'active'];
  for (const [index, status] of statuses.entries()) {
    await ingest([receivedEvent({ customerId, status, createdSeconds: 1_000 * (index + 1) })]);
  }
  const { signal } = new AbortController();
  expect(await pruneLog({ query, cutoffMs: Date.now() + 60_000 }, signal)).toBeGreaterThan(0);
  expect(await rebuildTeams(store.database, { teamId })).toEqual([]);
  expect((await readAccess(query, teamId))?.since).toEqual(new Date(3_000_000));
});
