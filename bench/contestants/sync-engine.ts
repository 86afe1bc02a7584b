import type { Contestant } from './contestant.ts';
import { migratePeer, peerEnvironment, peerProgram } from './peer-program.ts';

const NAME = 'sync-engine';

/** Its migrations give a function to a role of this name, and stop half-way without it. */
const ROLE = `
  do $$
  begin
    if not exists (select from pg_roles where rolname = 'postgres') then
      create role postgres;
    end if;
  end
  $$`;

type Row = { customer: string; plan: string };

/** It has no log, no users, and no row before a subscription's first event. */
export const syncEngine: Contestant = {
  name: NAME,
  title: '@supabase/stripe-sync-engine',
  isPeer: true,
  webhookPath: '/',
  profiles: null,
  async prepare(databaseUrl, ask) {
    await ask(ROLE);
    await migratePeer(NAME, databaseUrl);
    // It looks for a subscription's items with each event, and has no index for that.
    await ask('create index on stripe.subscription_items (subscription)');
  },
  server: (databaseUrl) => ({
    arguments: [peerProgram(NAME)],
    environment: peerEnvironment(databaseUrl),
    readyPath: '/',
  }),
  countLogged: null,
  async readCustomers(ask) {
    const rows = await ask<Row>(
      `select customer, concat_ws(' ', subscriptions.id, price, status) as plan
         from stripe.subscriptions
         join stripe.subscription_items on subscription = subscriptions.id`,
    );
    return new Map(rows.map(({ customer, plan }) => [customer, plan]));
  },
  expect: ({ subscriptionId, priceId, status }) => `${subscriptionId} ${priceId} ${status}`,
};
