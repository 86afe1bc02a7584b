import { createLogger } from 'instep';
import type { Json } from 'instep-engine/rule';
import { catchUp } from 'instep-engine/src/repair/catch-up.ts';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { reconcile } from '../support/internals/repair.ts';
import { addTeam } from '../support/internals/rows.ts';
import type { StripePage } from '../support/internals/stripe.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline, openWholePipeline } from '../support/service/pipelines.ts';
import { openSettleJobs } from '../support/service/settle-jobs.ts';
import { eventBody, receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
const { signal } = new AbortController();
const logger = createLogger('silent');
const run = (statement: string) => store.database.query(statement);

const CUSTOMERS = Array.from({ length: 7 }, (_, index) => `cus_${index}`);
/** In the middle, so that teams before and after it are compared. */
const REFUSING = 'cus_3';
const OTHERS = CUSTOMERS.filter((customerId) => customerId !== REFUSING);

const page = (objects: readonly Json[]): StripePage => ({
  objects,
  hasMore: false,
  answeredSeconds: null,
  tookMs: 0,
});

async function addTeams(): Promise<void> {
  for (const customerId of CUSTOMERS)
    await addTeam(store.database.query, { name: 'T', customerId });
}

/** The customers whose teams have a plan. */
async function withPlan(): Promise<string[]> {
  const rows = await store.database.query<{ id: string }>(
    `select provider_customer_id as id
       from teams
      where subscription_status = 'active'
      order by provider_customer_id`,
  );
  return rows.map(({ id }) => id);
}

beforeEach(() => run('truncate teams, instep.events, instep.customers, instep.findings'));

describe.each(['U0001', '55000', '42501', 'P0001'])('a trigger that raises %s', (state) => {
  beforeEach(async () => {
    await run(`
      create or replace function refuse() returns trigger language plpgsql as
      $$ begin
           if new.provider_customer_id = '${REFUSING}' then
             raise 'not this team' using errcode = '${state}';
           end if;
           return new;
         end $$`);
    await run(
      'create or replace trigger refuse before update on teams for each row execute function refuse()',
    );
  });

  test('stops no parked event of another team', async () => {
    const ingest = openPipeline(store.database);
    await ingest(CUSTOMERS.map((customerId) => receivedEvent({ customerId })));
    await addTeams();
    await openSettleJobs(store.database).parkedEvents(signal);
    expect(await withPlan()).toEqual(OTHERS);
  });

  test('stops no other empty team', async () => {
    const ingest = openPipeline(store.database);
    await run('drop trigger refuse on teams');
    await addTeams();
    await ingest(CUSTOMERS.map((customerId) => receivedEvent({ customerId })));
    await run('truncate teams');
    await addTeams();
    await run(
      'create trigger refuse before update on teams for each row execute function refuse()',
    );
    await openSettleJobs(store.database).emptyTeams(signal);
    expect(await withPlan()).toEqual(OTHERS);
  });

  test('stops no missed event of another team, and the list is read to its end', async () => {
    await addTeams();
    const bodies = CUSTOMERS.map((customerId, index) =>
      JSON.parse(eventBody({ customerId, eventId: `evt_${index}` })),
    );
    const saved: object[] = [];
    await catchUp(
      {
        progress: null,
        saveProgress: async () => undefined,
        complete: async (progress) => void saved.push(progress),
      },
      {
        query: store.database.query,
        ingest: openPipeline(store.database),
        listEvents: async () => page(bodies),
        logger,
        now: Date.now,
        nonce: () => 'nonce',
      },
      signal,
    );
    expect(await withPlan()).toEqual(OTHERS);
    expect(saved).toHaveLength(1);
  });

  test('stops no repair of another team, and is counted as left', async () => {
    await addTeams();
    const listed = CUSTOMERS.map(
      (customerId) =>
        JSON.parse(eventBody({ customerId, subscriptionId: `sub_${customerId}` })).data.object,
    );
    const { ingest, settle } = openWholePipeline(store.database);
    const counts = await reconcile(
      {
        database: store.database,
        ...{ ingest, settle },
        api: {
          listSubscriptions: async () => page(listed),
          listCustomers: async () => page([]),
          retrieveCustomer: async () => null,
        },
        nameOf: async () => null,
        planSelection: 'newest',
        logger,
        now: Date.now,
        nonce: () => 'one',
        isDryRun: false,
        onIssue: () => undefined,
      },
      signal,
    );
    expect(counts).toMatchObject({ drifts: CUSTOMERS.length, repaired: OTHERS.length });
    expect(await withPlan()).toEqual(OTHERS);
    // A pipeline stores an issue after its answer, so one of an earlier test's teams can be there, too.
    const issues = () =>
      run(
        'select customer_id, problem from instep.findings where team_id in (select id::text from teams)',
      );
    await expect.poll(issues).toEqual([{ customer_id: REFUSING, problem: 'plan refused' }]);
  });
});

test('a team whose trigger waits does not lock the other empty teams meanwhile', async () => {
  const { database } = store;
  await run('drop trigger if exists refuse on teams');
  const ingest = openPipeline(database);
  await addTeams();
  await ingest(CUSTOMERS.map((customerId) => receivedEvent({ customerId })));
  await run('truncate teams');
  await addTeams();
  await run(`
    create function wait() returns trigger language plpgsql as
    $$ begin
         if new.provider_customer_id = '${REFUSING}' then perform pg_sleep(3); end if;
         return new;
       end $$;
    create trigger wait before update on teams for each row execute function wait()`);
  const filled = openSettleJobs(database).emptyTeams(signal);
  const waiting = `select from pg_stat_activity
                    where wait_event = 'PgSleep' and datname = current_database()`;
  await vi.waitUntil(async () => (await run(waiting)).length > 0, { interval: 5, timeout: 20_000 });
  const { ingest: impatient } = openWholePipeline(database, { timeoutMs: 1_500 });
  const [customerId = ''] = OTHERS;
  await impatient([receivedEvent({ customerId, createdSeconds: 1_800_000_000 })]);
  await filled;
  expect(await withPlan()).toEqual(CUSTOMERS);
  await run('drop trigger wait on teams');
});
