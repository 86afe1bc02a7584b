import { countBy, countTeamsInTurn, readTeamCounts } from 'instep/src/queries/team-counts.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);
  const run = (statement: string) => store.database.query(statement);

  async function countByStatus(): Promise<Record<string, number>> {
    const counts = await readTeamCounts(store.database.query);
    return Object.fromEntries(countBy(counts?.groups ?? [], ({ status }) => [status]));
  }

  beforeEach(async () => {
    await run('truncate teams');
    await run(`update instep.team_counts set counted_at = '-infinity', took = '0', groups = null`);
  });

  test('there is no count before the first one', async () => {
    expect(await readTeamCounts(store.database.query)).toBeNull();
    await countTeamsInTurn(store.database.query);
    expect(await readTeamCounts(store.database.query)).toMatchObject({ groups: [] });
  });

  test("counts teams by status, including none and the application's own", async () => {
    await run(
      `insert into teams (name, subscription_status)
       values ('a', 'active'), ('b', 'active'), ('c', 'canceled'), ('d', null), ('e', 'gold'),
              ('f', '<script>')`,
    );
    await countTeamsInTurn(store.database.query);
    const counts = await countByStatus();
    expect(counts).toEqual({ active: 2, canceled: 1, none: 1, other: 2 });
  });

  test('one of several instances takes the turn, and the next turn comes later', async () => {
    const database = store.openAnother();
    await Promise.all([countTeamsInTurn(database.query), countTeamsInTurn(store.database.query)]);
    const before = await readTeamCounts(store.database.query);
    await run(`insert into teams (name) values ('late')`);
    await countTeamsInTurn(store.database.query);
    expect(await readTeamCounts(store.database.query)).toEqual(before);
  });

  test('the longer a count takes, the less often it runs', async () => {
    await run(`update instep.team_counts
                  set counted_at = now() - interval '15 seconds', took = '1 second', groups = '[]'`);
    await run(`insert into teams (name) values ('late')`);
    await countTeamsInTurn(store.database.query);
    expect(await readTeamCounts(store.database.query)).toMatchObject({ groups: [] });
    await run(`update instep.team_counts set took = '0.1 seconds'`);
    await countTeamsInTurn(store.database.query);
    expect(await readTeamCounts(store.database.query)).toMatchObject({
      groups: [{ status: 'none', teams: 1 }],
    });
  });

  test('remembers how long a count took', async () => {
    await run(`insert into teams (name) select 'Team ' || n from generate_series(1, 20000) as n`);
    const startedAtMs = performance.now();
    await countTeamsInTurn(store.database.query);
    const tookMs = performance.now() - startedAtMs;
    const [row] = await store.database.query<{ ms: number }>(
      'select (extract(epoch from took) * 1000)::float8 as ms from instep.team_counts',
    );
    // The claim and two round trips take little of this.
    expect(row?.ms).toBeGreaterThan(tookMs / 10);
  });

  test('a count that fails is retried less and less often, until one succeeds', async () => {
    await run(`alter table teams rename to accounts`);
    await run(`create view teams as select * from accounts where 1 / id > 1`);
    await run(`insert into accounts (id, name) values (0, 'a')`);
    const attempts: number[] = [];
    const countAfter = async (seconds: number) => {
      await run(`update instep.team_counts
                    set counted_at = counted_at - interval '${seconds} seconds'`);
      await countTeamsInTurn(store.database.query);
    };
    try {
      for (let seconds = 11; attempts.length < 4; seconds += 11) {
        await countAfter(11).catch(() => attempts.push(seconds));
      }
    } finally {
      await run('drop view teams; alter table accounts rename to teams');
    }
    expect(attempts).toEqual([11, 22, 44, 88]);
    await countAfter(3_600);
    await run(`insert into teams (name) values ('b')`);
    await countAfter(11);
    expect(await countByStatus()).toEqual({ none: 2 });
  });

  test('a table with columns of the application is counted by the plan alone', async () => {
    await run(`alter table teams add status text default 'open', add customer_id text`);
    try {
      await run(`insert into teams (name, subscription_status) values ('a', 'active')`);
      await countTeamsInTurn(store.database.query);
      const counts = await countByStatus();
      expect(counts).toEqual({ active: 1 });
    } finally {
      await run('alter table teams drop status, drop customer_id');
    }
  });

  test('counts statuses of a type of the application, in a view', async () => {
    await run(`create domain plan_status as text`);
    await run(`alter table teams alter subscription_status type plan_status`);
    await run(`alter table teams rename to accounts`);
    await run(`create view teams as select * from accounts`);
    try {
      await run(
        `insert into accounts (name, subscription_status) values ('a', 'active'), ('b', 'gold')`,
      );
      await countTeamsInTurn(store.database.query);
      const counts = await countByStatus();
      expect(counts).toEqual({ active: 1, other: 1 });
    } finally {
      await run('drop view teams; alter table accounts rename to teams');
    }
  });
});
