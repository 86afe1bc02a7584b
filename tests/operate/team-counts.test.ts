import { beforeEach, describe, expect, test } from 'vitest';
import { countTeams } from '../support/internals/operations.ts';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);
  const run = (statement: string) => store.database.query(statement);

  beforeEach(() => run('truncate teams, instep.asked_customers'));

  test("counts teams by status, including none and the application's own", async () => {
    await run(
      `insert into teams (name, subscription_status)
       values ('a', 'active'), ('b', 'active'), ('c', 'canceled'), ('d', null), ('e', 'gold'),
              ('f', '<script>')`,
    );
    expect((await countTeams(store.database))?.statuses).toEqual([
      { status: 'active', teams: 2 },
      { status: 'other', teams: 2 },
      { status: 'canceled', teams: 1 },
      { status: 'none', teams: 1 },
    ]);
  });

  test('a table with columns of the application is counted by the plan alone', async () => {
    await run(`alter table teams add status text default 'open', add customer_id text`);
    try {
      await run(`insert into teams (name, subscription_status) values ('a', 'active')`);
      expect((await countTeams(store.database))?.statuses).toEqual([
        { status: 'active', teams: 1 },
      ]);
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
      expect((await countTeams(store.database))?.statuses).toEqual([
        { status: 'active', teams: 1 },
        { status: 'other', teams: 1 },
      ]);
    } finally {
      await run('drop view teams; alter table accounts rename to teams');
    }
  });
});
