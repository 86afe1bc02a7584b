import { migratePeer, peerEnvironment, peerProgram } from './peer-program.ts';
import type { System } from './system.ts';

const NAME = 'sync-engine';

type Row = { customer: string; plan: string };

/** It has no event log, no users, and no row before a subscription's first event. */
export const syncEngine: System = {
  name: NAME,
  title: '@stripe/sync-engine',
  isPeer: true,
  keepsOrder: false,
  webhookPath: '/',
  profiles: null,
  async prepare(databaseUrl, ask) {
    const { STRIPE_OPENAPI_FILE } = process.env;
    await migratePeer(NAME, databaseUrl, STRIPE_OPENAPI_FILE ? { STRIPE_OPENAPI_FILE } : {});
    // It looks up the subscription's items for each event, and creates no index for that.
    await ask('create index on stripe.subscription_items (subscription)');
  },
  server: (databaseUrl) => ({
    arguments: [peerProgram(NAME)],
    environment: peerEnvironment(databaseUrl),
    readyPath: '/',
  }),
  countLogged: null,
  async readSubscriptions(ask) {
    const rows = await ask<Row>(
      `select customer, concat_ws(' ', subscriptions.id, price #>> '{}', status) as plan
         from stripe.subscriptions
         join stripe.subscription_items on subscription = subscriptions.id`,
    );
    return new Map(rows.map(({ customer, plan }) => [customer, plan]));
  },
  expect: ({ subscriptionId, priceId, status }) => `${subscriptionId} ${priceId} ${status}`,
};
