import { findTeams } from 'instep/operate';
import { beforeEach, describe, expect, test } from 'vitest';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);
  const run = (statement: string) => store.database.query(statement);

  beforeEach(() => run('truncate teams'));

  const namesWith = async (status: string) => {
    const { rows } = await findTeams(store, { status }).page();
    return rows.map(({ name }) => name);
  };

  test("teams are found by status, by none and by the application's own", async () => {
    await run(
      `insert into teams (name, subscription_status)
       values ('a', 'active'), ('b', 'active'), ('c', 'canceled'), ('d', null), ('e', 'gold')`,
    );
    expect(await namesWith('active')).toEqual(['a', 'b']);
    expect(await namesWith('none')).toEqual(['d']);
    expect(await namesWith('other')).toEqual(['e']);
  });

  test('a status can be of a type of the application, in a view, beside columns of its own', async () => {
    await run(`create domain plan_status as text`);
    await run(`alter table teams alter subscription_status type plan_status`);
    await run(`alter table teams add status text default 'open', add customer_id text`);
    await run(`alter table teams rename to accounts`);
    await run(`create view teams as select * from accounts`);
    try {
      await run(
        `insert into accounts (name, subscription_status) values ('a', 'active'), ('b', 'gold')`,
      );
      expect(await namesWith('active')).toEqual(['a']);
      expect(await namesWith('other')).toEqual(['b']);
    } finally {
      await run('drop view teams; alter table accounts rename to teams');
    }
  });
});
