import type { ApplicationId } from 'instep';
import { reconcileTeams } from 'instep/operate';
import { describe, expect, test } from 'vitest';
import type { Database, Query } from '../support/internals/database.ts';
import { linkTeam, writeProductName } from '../support/internals/rows.ts';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { openSettleJobs } from '../support/service/settle-jobs.ts';
import { receivedEvent } from '../support/stripe/events.ts';
import { openOperatedAccount, secondsAgo, teamOf } from '../support/stripe/operated-account.ts';

type Row = {
  cause: string;
  customer_id: string | null;
  event_id: string | null;
  operator: string | null;
  before: (string | null)[];
  after: (string | null)[];
};

const rowsOf = (query: Query, teamId: ApplicationId) =>
  query<Row>(
    `select cause, customer_id, event_id, operator,
            extract(epoch from event_created_at)::bigint as created,
            array[subscription_status_before, plan_name_before, provider_product_id_before,
                  provider_subscription_id_before] as before,
            array[subscription_status_after, plan_name_after, provider_product_id_after,
                  provider_subscription_id_after] as after
       from instep.plan_changes
      where team_id = $1
      order by id`,
    [String(teamId)],
  );

const NONE = [null, null, null, null];

async function applyNames(database: Database): Promise<void> {
  await openSettleJobs(database).planNames(new AbortController().signal);
}

describe.each(postgresServers)('the history of plans on $name', (server) => {
  const store = useDatabase(server);

  test('has the row as the triggers of the application leave it', async () => {
    const { query } = store.database;
    const { teamId, customerId } = await store.addTeam();
    await query(`
      create function shorten() returns trigger language plpgsql as
        $$begin new.plan_name := left(new.plan_name, 2); return new; end$$;
      create trigger shorten before update on teams for each row execute function shorten()`);
    const ingest = openPipeline(store.database, async () => 'Business');
    await ingest([receivedEvent({ customerId, productId: 'prod_business' })]);
    await query('drop function shorten cascade');
    const [row] = await rowsOf(query, teamId);
    expect(row?.after[1]).toBe('Bu');
  });

  test('has the changes of a view', async () => {
    const { query } = store.database;
    const { teamId, customerId } = await store.addTeam();
    await query('alter table teams rename to base; create view teams as select * from base');
    const other = store.openAnother();
    const ingest = openPipeline(other);
    await ingest([receivedEvent({ customerId })]);
    const productId = `prod_${teamId}`;
    await ingest([receivedEvent({ customerId, productId, createdSeconds: 1_900_000_000 })]);
    await writeProductName(query, productId, 'Late');
    await applyNames(other);
    await other.transaction((inside) => linkTeam(inside, teamId, `cus_other_${teamId}`));
    await query('drop view teams; alter table base rename to teams');
    const active = ['active', null, 'prod_1', 'sub_1'];
    const [unnamed, named] = [null, 'Late'].map((name) => ['active', name, productId, 'sub_1']);
    expect(await rowsOf(query, teamId)).toMatchObject([
      { cause: 'event', before: NONE, after: active },
      { cause: 'event', before: active, after: unnamed },
      { cause: 'name', before: unnamed, after: named },
      { cause: 'link', customer_id: customerId, before: named, after: NONE },
    ]);
  });
});

describe('what operators and maintenance change', async () => {
  const { account, context, query, operator, link, unlink } = await openOperatedAccount();
  const causes = async (teamId: ApplicationId) =>
    (await rowsOf(query, teamId)).map(({ cause, operator }) => [cause, operator]);

  test('has its cause and, of operators, the name', async () => {
    const teamId = await account.addTeam('cus_1');
    const fields = { customerId: 'cus_1', subscriptionId: 'sub_1' };
    await account.happen({ ...fields, createdSeconds: secondsAgo(9_000) });
    await query(`update teams set subscription_status = 'trialing' where id = $1`, [teamId]);
    await reconcileTeams(context, operator, { customerId: 'cus_1' });
    await query(
      `update teams set provider_customer_id = null, subscription_status = null,
                        provider_subscription_id = null, provider_product_id = null, plan_name = null
                  where id = $1`,
      [teamId],
    );
    await link(teamOf(teamId), 'cus_1');
    await account.happen(
      { ...fields, status: 'canceled', createdSeconds: secondsAgo(90) },
      'missed',
    );
    await reconcileTeams(context, operator, { customerId: 'cus_1' });
    await unlink(teamId, 'cus_1');
    expect(await causes(teamId)).toEqual([
      ['event', null],
      ['repair', 'user:7'],
      ['link', 'user:7'],
      ['repair', 'user:7'],
      ['link', 'user:7'],
    ]);
  });
});
