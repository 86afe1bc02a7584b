import { expect, test, vi } from 'vitest';
import { addTeam } from '../support/internals/rows.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline, openWholePipeline } from '../support/service/pipelines.ts';
import { openSettleJobs } from '../support/service/settle-jobs.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
const CUSTOMERS = ['cus_1', 'cus_2', 'cus_waits', 'cus_3', 'cus_4'];

test('a team whose trigger waits does not lock the other empty teams meanwhile', async () => {
  const { database } = store;
  const { query } = database;
  const addTeams = async () => {
    for (const customerId of CUSTOMERS) await addTeam(query, { name: 'Team', customerId });
  };
  await addTeams();
  await openPipeline(database)(CUSTOMERS.map((customerId) => receivedEvent({ customerId })));
  await query('truncate teams');
  await addTeams();
  await query(`
    create function wait() returns trigger language plpgsql as
    $$ begin
         if new.provider_customer_id = 'cus_waits' then perform pg_sleep(3); end if;
         return new;
       end $$;
    create trigger wait before update on teams for each row execute function wait()`);
  const filled = openSettleJobs(database).emptyTeams(new AbortController().signal);
  const waiting = `select from pg_stat_activity
                    where wait_event = 'PgSleep' and datname = current_database()`;
  const isWaiting = async () => (await query(waiting)).length > 0;
  await vi.waitUntil(isWaiting, { interval: 5, timeout: 20_000 });
  const { ingest: impatient } = openWholePipeline(database, { timeoutMs: 1_500 });
  await impatient([receivedEvent({ customerId: 'cus_1', createdSeconds: 1_800_000_000 })]);
  await filled;
  expect(await query(`select from teams where subscription_status = 'active'`)).toHaveLength(
    CUSTOMERS.length,
  );
});
