import { expect, test } from 'vitest';
import type { Json } from '../../../src/core/json.ts';
import { reconcile } from '../../../src/maintenance/reconcile/reconcile.ts';
import { createLogger } from '../../../src/runtime/logging.ts';
import type { From, StripePage } from '../../../src/stripe/api.ts';
import { embeddedServer } from '../../support/postgres/test-database.ts';
import { useDatabase } from '../../support/service/ingest-service.ts';
import { openPipeline } from '../../support/service/pipelines.ts';
import { eventBody } from '../../support/stripe/events.ts';

const store = useDatabase(embeddedServer);

test('counts a subscription that two pages list once', async () => {
  const subscription: Json = JSON.parse(eventBody({ subscriptionId: 'sub_1' })).data.object;
  const page = (hasMore: boolean): StripePage => ({
    objects: [subscription],
    hasMore,
    answeredSeconds: null,
  });
  const counts = await reconcile(
    {
      database: store.database,
      ingest: openPipeline(store.database),
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
  expect(counts).toMatchObject({ subscriptions: 1, customersWithoutTeam: 1 });
});
