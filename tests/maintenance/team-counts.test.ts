import { readTeamCounts } from 'instep/src/maintenance/team-counts.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { countTeamsNow } from '../support/service/leased-jobs.ts';

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);
  const run = (statement: string) => store.database.query(statement);

  async function countByStatus(): Promise<Record<string, number>> {
    const counts = await readTeamCounts(store.database.query);
    const byStatus: Record<string, number> = {};
    for (const { status, teams } of counts?.groups ?? []) {
      byStatus[status] = (byStatus[status] ?? 0) + teams;
    }
    return byStatus;
  }

  beforeEach(async () => {
    await run('truncate teams');
    await run(`update instep.leased_jobs set progress = null where name = 'team-counts'`);
  });

  test('there is no count before the first one', async () => {
    expect(await readTeamCounts(store.database.query)).toBeNull();
    await countTeamsNow(store.database.query);
    expect(await readTeamCounts(store.database.query)).toMatchObject({ groups: [] });
  });

  test("counts teams by status, including none and the application's own", async () => {
    await run(
      `insert into teams (name, subscription_status)
       values ('a', 'active'), ('b', 'active'), ('c', 'canceled'), ('d', null), ('e', 'gold'),
              ('f', '<script>')`,
    );
    await countTeamsNow(store.database.query);
    const counts = await countByStatus();
    expect(counts).toEqual({ active: 2, canceled: 1, none: 1, other: 2 });
  });

  test('a table with columns of the application is counted by the plan alone', async () => {
    await run(`alter table teams add status text default 'open', add customer_id text`);
    try {
      await run(`insert into teams (name, subscription_status) values ('a', 'active')`);
      await countTeamsNow(store.database.query);
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
      await countTeamsNow(store.database.query);
      const counts = await countByStatus();
      expect(counts).toEqual({ active: 1, other: 1 });
    } finally {
      await run('drop view teams; alter table accounts rename to teams');
    }
  });
});
