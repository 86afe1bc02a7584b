import fc from 'fast-check';
import { withLease } from 'instep/src/maintenance/lease.ts';
import { countTeams, readTeamCounts } from 'instep/src/maintenance/team-counts.ts';
import type { Query } from 'instep/src/postgres/database.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { embeddedServer, postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { countTeamsNow } from '../support/service/leased-jobs.ts';

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);
  const run = (statement: string) => store.database.query(statement);

  async function countByStatus(): Promise<Record<string, number>> {
    const counts = await readTeamCounts(store);
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
    expect(await readTeamCounts(store)).toBeNull();
    await countTeamsNow(store.database.query);
    expect(await readTeamCounts(store)).toMatchObject({ groups: [] });
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

const anyTeam = fc.record({
  status: fc.constantFrom(null, 'active', 'past_due', 'gold'),
  plan: fc.constantFrom(null, 'Pro', 'Scale'),
  product: fc.constantFrom(null, 'prod_1'),
  isLinked: fc.boolean(),
  isCompared: fc.boolean(),
  isAmbiguous: fc.boolean(),
});
type AnyTeam = ReturnType<(typeof anyTeam)['generate']>['value'];

/** What a count of these teams must say. */
function countsOf(teams: readonly AnyTeam[]) {
  const groups = new Map<string, number>();
  for (const { status, plan, product, isLinked, isAmbiguous } of teams) {
    const name = status === null ? 'none' : status === 'gold' ? 'other' : status;
    const issues = [
      ...(isLinked && isAmbiguous ? ['unknown-order'] : []),
      ...(product !== null && plan === null ? ['products-without-name'] : []),
    ];
    const key = JSON.stringify([name, plan, product, issues]);
    groups.set(key, (groups.get(key) ?? 0) + 1);
  }
  const linked = teams.filter(({ isLinked }) => isLinked);
  return {
    groups,
    linked: linked.length,
    uncompared: linked.filter(({ isCompared }) => !isCompared).length,
  };
}

describe('a count in pages', () => {
  const store = useDatabase(embeddedServer);
  const run = (statement: string, values?: readonly unknown[]) =>
    store.database.query(statement, values);

  async function addTeams(teams: readonly AnyTeam[]): Promise<void> {
    await run(
      `with added as (
         insert into teams (name, provider_customer_id, subscription_status, plan_name, provider_product_id)
         select '', case when "isLinked" then 'cus_' || gen_random_uuid() end, status, plan, product
           from jsonb_to_recordset($1::jsonb)
             as team (status text, plan text, product text, "isLinked" boolean)
         returning id, provider_customer_id
       ), team as (
         select provider_customer_id as customer_id, fact.*
           from (select *, row_number() over (order by id) as number from added) as numbered
           join rows from (jsonb_to_recordset($1::jsonb) as ("isCompared" boolean, "isAmbiguous" boolean))
             with ordinality as fact on fact.ordinality = number
          where provider_customer_id is not null
       ), compared as (
         insert into instep.new_customers (customer_id, due_at)
         select customer_id, now() from team where "isCompared"
       )
       insert into instep.subscriptions (customer_id, subscription_id, is_order_ambiguous)
       select customer_id, '', true from team where "isAmbiguous"`,
      [JSON.stringify(teams)],
    );
  }

  async function reset(): Promise<void> {
    await run('truncate teams, instep.new_customers, instep.subscriptions');
    await run(`update instep.leased_jobs set progress = null where name = 'team-counts'`);
  }

  type Count = {
    readonly limit: number;
    readonly query?: Query;
    readonly signal?: AbortSignal;
  };

  /** Counts as one instance does, until it is done or interrupted. */
  async function count({
    limit,
    query = store.database.query,
    signal = new AbortController().signal,
  }: Count): Promise<void> {
    const lease = { name: 'team-counts', holder: 'test', dueAfterMs: 0 };
    const counting = withLease(store.database.query, lease, (run) =>
      countTeams(run, { query, now: Date.now, limit }, signal),
    );
    await counting.catch((error: unknown) => {
      if (error !== CRASH) throw error;
    });
  }

  const CRASH = new Error('the process has ended');

  /** Calls back before each page. */
  function onPage(before: (page: number) => unknown): Query {
    let pages = 0;
    return async (statement, values) => {
      pages += 1;
      await before(pages);
      return await store.database.query(statement, values);
    };
  }

  beforeEach(reset);

  async function readCounts() {
    const counts = await readTeamCounts(store);
    if (counts === null) return null;
    const { groups, linked, uncompared } = counts;
    const sums = groups.map(
      ({ status, plan, product, issues, teams }) =>
        [JSON.stringify([status, plan, product, issues]), teams] as const,
    );
    return { groups: new Map(sums), linked, uncompared };
  }

  test('has the sums of all teams, whatever the size of its pages and however often it is interrupted', async () => {
    const property = fc.asyncProperty(
      fc.array(anyTeam, { maxLength: 12 }),
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.constantFrom('crash', 'stop'), { maxLength: 3 }),
      async (teams, limit, interruptions) => {
        await reset();
        await addTeams(teams);
        for (const interruption of interruptions) {
          const stopping = new AbortController();
          const query = onPage((page) => {
            if (interruption === 'stop') stopping.abort();
            else if (page === 2) throw CRASH;
          });
          await count({ limit, query, signal: stopping.signal });
        }
        await count({ limit });
        expect(await readCounts()).toEqual(countsOf(teams));
      },
    );
    await fc.assert(property, { numRuns: 30 });
  });

  const active = { status: 'active', plan: 'Pro', product: 'prod_1' } as const;
  const team = { ...active, isLinked: true, isCompared: true, isAmbiguous: false };

  test('keeps the last count until the next one is complete', async () => {
    await addTeams([team, team]);
    await count({ limit: 10 });
    await addTeams([team, team, team]);
    const stopping = new AbortController();
    stopping.abort();
    await count({ limit: 2, signal: stopping.signal });
    expect(await readCounts()).toEqual(countsOf([team, team]));
    await count({ limit: 2 });
    expect(await readCounts()).toEqual(countsOf([team, team, team, team, team]));
  });

  test('is exact while teams are added', async () => {
    await addTeams([team, team]);
    await count({ limit: 1, query: onPage((page) => (page < 4 ? addTeams([team]) : undefined)) });
    expect(await readCounts()).toEqual(countsOf([team, team, team, team, team]));
  });

  test('counts plans together if there are more than can be shown', async () => {
    await run(`insert into teams (name, plan_name, subscription_status)
               select '', case when number > 11 then 'Plan ' || number / 2 else 'Common' end, 'active'
                 from generate_series(0, 2501) as number`);
    await count({ limit: 700 });
    const groups = (await readTeamCounts(store))?.groups ?? [];
    const shown = groups.filter(({ plan }) => plan !== null);
    expect(groups.reduce((sum, { teams }) => sum + teams, 0)).toBe(2_502);
    expect(groups.length).toBeLessThan(600);
    expect(shown.find(({ plan }) => plan === 'Common')?.teams).toBe(12);
    expect(new Set(shown.map(({ teams }) => teams))).toEqual(new Set([12, 2]));
  });
});
