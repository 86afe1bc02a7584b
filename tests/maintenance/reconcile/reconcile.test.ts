import { expect, test } from 'vitest';
import type { Json } from '../../../src/core/json.ts';
import { reconcile } from '../../../src/maintenance/reconcile/reconcile.ts';
import type { Query } from '../../../src/postgres/database.ts';
import { createLogger } from '../../../src/runtime/logging.ts';
import type { From, StripePage } from '../../../src/stripe/api.ts';
import { embeddedServer } from '../../support/postgres/test-database.ts';
import { useDatabase } from '../../support/service/ingest-service.ts';
import { openPipeline } from '../../support/service/pipelines.ts';
import { eventBody } from '../../support/stripe/events.ts';

const store = useDatabase(embeddedServer);

/** Reconciles with a Stripe that lists the same subscription on two pages. */
async function reconcileTwoPages(database = store.database) {
  const subscription: Json = JSON.parse(eventBody({ subscriptionId: 'sub_1' })).data.object;
  const page = (hasMore: boolean): StripePage => ({
    objects: [subscription],
    hasMore,
    answeredSeconds: null,
  });
  return await reconcile(
    {
      database,
      ingest: openPipeline(database),
      api: {
        listSubscriptions: async ({ cursor }: From) => page(cursor === null),
        listCustomers: async () => page(false),
      },
      nameOf: async () => null,
      planSelection: 'newest',
      logger: createLogger('silent'),
      now: Date.now,
      nonce: () => 'holder',
      isDryRun: true,
      resume: 'no',
      onFinding: () => undefined,
    },
    new AbortController().signal,
  );
}

test('counts a subscription that two pages list once', async () => {
  expect(await reconcileTwoPages()).toMatchObject({ subscriptions: 1, customersWithoutTeam: 1 });
});

test('leaves the list to the instance that has taken over', async () => {
  const { query } = store.database;
  const takenOver: Query = async (statement, values) => {
    if (typeof statement !== 'string' && statement.name === 'read_unlisted_teams') {
      await query(`update instep.leased_jobs set holder = 'other' where name = 'reconcile'`);
    }
    return await query(statement, values);
  };
  const reconciling = reconcileTwoPages({ ...store.database, query: takenOver });
  await expect(reconciling).rejects.toMatchObject({ code: 'RECONCILIATION_FAILED' });
  expect(await query('select subscription_id from instep.listed_subscriptions')).toEqual([
    { subscription_id: 'sub_1' },
  ]);
});
