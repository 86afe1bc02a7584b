import { migratePeer, peerEnvironment, peerProgram } from './peer-program.ts';
import type { System } from './system.ts';

const NAME = 'sync-engine';

/** Its migrations need a role with this name, and stop halfway without it. */
const ROLE = `
  do $$
  begin
    if not exists (select from pg_roles where rolname = 'postgres') then
      create role postgres;
    end if;
  end
  $$`;

type Row = { customer: string; plan: string };

/** It has no event log, no users, and no row before a subscription's first event. */
export const syncEngine: System = {
  name: NAME,
  title: '@supabase/stripe-sync-engine',
  isPeer: true,
  keepsOrder: false,
  webhookPath: '/',
  profiles: null,
  async prepare(databaseUrl, ask) {
    await ask(ROLE);
    await migratePeer(NAME, databaseUrl);
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
      `select customer, concat_ws(' ', subscriptions.id, price, status) as plan
         from stripe.subscriptions
         join stripe.subscription_items on subscription = subscriptions.id`,
    );
    return new Map(rows.map(({ customer, plan }) => [customer, plan]));
  },
  expect: ({ subscriptionId, priceId, status }) => `${subscriptionId} ${priceId} ${status}`,
};
