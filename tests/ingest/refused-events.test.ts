import { DatabaseRefused } from 'instep-engine/postgres';
import { findIssues } from 'instep-operate';
import { describe, expect, test, vi } from 'vitest';
import type { LogEvent } from '../support/internals/ingest.ts';
import { addTeam } from '../support/internals/rows.ts';
import { postgresServers } from '../support/postgres/test-database.ts';
import { NO_PLAN } from '../support/service/contract-service.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);
  const openIssues = async () => (await findIssues(store, { code: 'plan-refused' }).page()).rows;

  /** A trigger that refuses the team of `cus_bad` with any SQLSTATE. */
  const raising = (state: string) => [
    `create or replace function object() returns trigger language plpgsql as
     $$begin if new.provider_customer_id = 'cus_bad' then
         raise exception 'no' using errcode = '${state}'; end if;
     return new; end$$;
     create trigger objection before update on teams for each row execute function object()`,
    'drop trigger objection on teams',
  ];

  const refusals = [
    ...['U0001', '42P01', '26000', 'XX000'].map((state) => [
      `a trigger that raises ${state}`,
      ...raising(state),
    ]),
    [
      'a check constraint',
      `alter table teams add constraint objection
         check (provider_customer_id <> 'cus_bad' or provider_subscription_id is null)`,
      'alter table teams drop constraint objection',
    ],
    [
      'a view with a check option',
      `alter table teams rename to all_teams;
       create view teams as select * from all_teams
        where provider_customer_id is distinct from 'cus_bad' or provider_subscription_id is null
         with check option`,
      'drop view teams; alter table all_teams rename to teams',
    ],
    [
      'a trigger that lacks a privilege',
      `create table secrets ();
       create function object_by_privilege() returns trigger language plpgsql as
       $$begin if new.provider_customer_id = 'cus_bad' then perform from secrets; end if;
       return new; end$$;
       create trigger objection before update on teams for each row execute function object_by_privilege();
       alter function object_by_privilege() security definer;
       alter function object_by_privilege() owner to pg_monitor`,
      'drop trigger objection on teams',
    ],
    [
      'a trigger at the commit',
      `create or replace function object() returns trigger language plpgsql as
       $$begin if new.provider_customer_id = 'cus_bad' then raise exception 'no'; end if;
       return null; end$$;
       create constraint trigger objection after update on teams deferrable initially deferred
         for each row execute function object()`,
      'drop trigger objection on teams',
    ],
    [
      'a trigger that skips the update',
      `create or replace function skip() returns trigger language plpgsql as
       $$begin if new.provider_customer_id = 'cus_bad' then return null; end if; return new; end$$;
       create trigger objection before update on teams for each row execute function skip()`,
      'drop trigger objection on teams',
    ],
    [
      'a trigger that writes another status',
      `create or replace function lie() returns trigger language plpgsql as
       $$begin if new.provider_customer_id = 'cus_bad' then new.subscription_status := 'paused'; end if;
       return new; end$$;
       create trigger objection before update on teams for each row execute function lie()`,
      'drop trigger objection on teams',
    ],
    [
      'a view with row level security',
      `alter table teams rename to all_teams;
       create policy readable on all_teams for select using (true);
       create policy writable on all_teams for update using (true)
         with check (provider_customer_id <> 'cus_bad' or plan_name is null and provider_product_id is null);
       alter table all_teams enable row level security;
       grant select, update on all_teams to pg_monitor;
       create view teams as select * from all_teams;
       alter view teams owner to pg_monitor`,
      'drop view teams; alter table all_teams rename to teams; alter table teams disable row level security',
    ],
  ] as [by: string, refusal: string, withdrawal: string][];

  test.each(refusals)(
    'what %s refuses is one team’s issue and leaves nothing behind: 31 other teams get their plans',
    async (_, refusal, withdrawal) => {
      const { query } = store.database;
      const others = await Promise.all(Array.from({ length: 31 }, () => store.addTeam()));
      const teamId = await addTeam(query, { name: 'Bad', customerId: 'cus_bad' });
      await query(refusal);
      const ingest = openPipeline(store.database);
      const ingestAll = (customerIds: readonly string[]) =>
        Promise.allSettled(
          customerIds.map((customerId) => ingest([receivedEvent({ customerId })])),
        );
      const customerIds = others.map(({ customerId }) => customerId);
      const [bad, ...settled] = await ingestAll(['cus_bad', ...customerIds]);
      expect(settled.filter(({ status }) => status === 'rejected')).toEqual([]);
      expect(bad).toMatchObject({
        status: 'rejected',
        reason: { code: expect.stringMatching(/^DATABASE_(REFUSED|UNUSABLE)$/) },
      });
      await vi.waitFor(async () =>
        expect(await openIssues()).toMatchObject([{ code: 'plan-refused', team: { id: teamId } }]),
      );
      await query(withdrawal);
      expect(await store.planOf(teamId)).toEqual(NO_PLAN);
      expect(await store.logOf('cus_bad')).toEqual([]);
      const known = `select from instep.customers where customer_id = 'cus_bad'`;
      expect(await query(known)).toEqual([]);
      expect(await ingestAll(['cus_bad'])).toMatchObject([{ status: 'fulfilled' }]);
      await query(`delete from teams where provider_customer_id = 'cus_bad';
        delete from instep.events where customer_id = 'cus_bad';
        delete from instep.customers where customer_id = 'cus_bad'`);
    },
  );

  test.each([
    'do instead nothing',
    `where old.provider_customer_id <> '' do instead nothing`,
    'do also delete from notes',
  ])('no event gets a 200 for a table with the rewrite rule `%s`', async (rule) => {
    const { query } = store.database;
    const { teamId, customerId } = await store.addTeam();
    await query(`create table notes (); create rule objection as on update to teams ${rule}`);
    const ingest = openPipeline(store.database);
    const event = receivedEvent({ customerId });
    await expect(ingest([event])).rejects.toThrow(DatabaseRefused);
    await query('drop rule objection on teams; drop table notes');
    expect(await ingest([event])).toMatchObject([{ outcome: 'applied', teamIds: [teamId] }]);
  });

  test('a refused plan is listed for the operators, until it is written', async () => {
    const { query } = store.database;
    const ingest = openPipeline(store.database);
    const { teamId, customerId } = await store.addTeam();
    await ingest([receivedEvent({ customerId, createdSeconds: 1_000 })]);
    await query(
      "alter table teams add constraint no_pro check (provider_product_id <> 'prod_pro')",
    );
    const event = receivedEvent({ customerId, createdSeconds: 2_000, productId: 'prod_pro' });
    for (let delivery = 0; delivery < 2; delivery += 1) {
      await expect(ingest([event])).rejects.toThrow(DatabaseRefused);
    }
    await vi.waitFor(async () => expect(await openIssues()).toHaveLength(1));
    expect(await openIssues()).toMatchObject([
      {
        code: 'plan-refused',
        customerId,
        team: { id: teamId },
        sinceMs: 2_000_000,
        evidence: {
          is: { providerProductId: 'prod_1' },
          shouldBe: { providerProductId: 'prod_pro', subscriptionStatus: 'active' },
          refusedBy: 'no_pro',
        },
      },
    ]);
    await query('alter table teams drop constraint no_pro');
    await ingest([event]);
    expect(await openIssues()).toEqual([]);
  });
});

const BUG = new TypeError('a bug');

/** An event that hits a bug when it is decided: whatever reads its time throws. */
function eventWithBug(customerId: string): LogEvent {
  const event = receivedEvent({ customerId });
  if (event.kind === 'unreadable') return event;
  const subscription = {
    ...event.subscription,
    get createdSeconds(): number {
      throw BUG;
    },
  };
  return { ...event, subscription };
}

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);

  test('an event that hits a bug fails alone, with the error of the bug, and leaves nothing behind', async () => {
    const ingest = openPipeline(store.database);
    const [before, bad, after] = [
      await store.addTeam(),
      await store.addTeam(),
      await store.addTeam(),
    ];
    const backends = `select array_agg(pid order by pid) as pids from pg_stat_activity where datname = current_database()`;
    const connected = await store.database.query<{ pids: number[] }>(backends);
    // The first one arrives alone, so the others form one batch.
    const settled = await Promise.allSettled(
      [
        receivedEvent({ customerId: store.newCustomer() }),
        receivedEvent({ customerId: before.customerId }),
        eventWithBug(bad.customerId),
        receivedEvent({ customerId: after.customerId }),
      ].map((event) => ingest([event])),
    );
    expect(settled.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    expect(settled[2]).toMatchObject({ reason: BUG });
    for (const { teamId } of [before, after]) {
      expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
    }
    expect(await store.planOf(bad.teamId)).toEqual(NO_PLAN);
    expect(await store.logOf(bad.customerId)).toEqual([]);
    // The connection stays.
    const [{ pids } = { pids: [] }] = connected;
    expect(await store.database.query(backends)).toEqual([{ pids: expect.arrayContaining(pids) }]);
  });
});
