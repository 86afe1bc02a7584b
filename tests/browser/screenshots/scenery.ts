import { createLogger } from 'instep';
import {
  addCompanies,
  inTrueOrder,
  PRODUCT_NAMES,
  walkthrough,
} from 'instep/src/cli/demo/scenes.ts';
import {
  ApiCollection,
  createSubscriptionEvent,
  type FakeStripeApi,
  type SubscriptionEvent,
  type SubscriptionEventFields,
  startFakeStripeApi,
} from 'instep/testing';
import { createRandom } from '../../../simulation/random.ts';
import type { Database, Query } from '../../support/internals/database.ts';
import { type Ingest, IngestPipeline } from '../../support/internals/ingest.ts';
import { createJobs } from '../../support/internals/repair.ts';
import { addTeam } from '../../support/internals/rows.ts';
import { createStripeApi } from '../../support/internals/stripe.ts';
import { API_KEY } from '../../support/secrets/test-secrets.ts';
import { recordComparison } from '../../support/service/comparison.ts';
import { received } from '../../support/stripe/events.ts';

/** The time of the screenshots. */
export const NOW_MS = Date.UTC(2026, 9, 14, 15, 30, 20);

const SEED = 14;
const SECOND_MS = 1_000;

/**
 * Sets up the data of the demo with a fixed time and seed, so that screenshots differ only where
 * pages do. Returns the stand-in for Stripe's API.
 */
export async function setUp(database: Database): Promise<FakeStripeApi> {
  const { query } = database;
  const now = () => NOW_MS;
  const logger = createLogger('silent');
  const subscriptions = new ApiCollection();
  const stripe = await startFakeStripeApi({ productNames: PRODUCT_NAMES, subscriptions });
  const api = createStripeApi({ secretKey: API_KEY, baseUrl: new URL(stripe.url) });
  const planSelection = 'newest';
  const { ingest, settle, nameOf } = new IngestPipeline({
    database,
    api,
    logger,
    planSelection,
    maxQueued: 10_000,
  });

  await addTeam(query, { name: "Ada's team", customerId: 'cus_ada' });
  const activity = {
    query,
    ingest,
    subscriptions,
    endMs: NOW_MS - 100 * SECOND_MS,
  };
  await createCases(query, ingest, subscriptions, activity.endMs);
  await addCompanies(activity);
  const scenes = walkthrough(NOW_MS / SECOND_MS - 80);
  for (const event of inTrueOrder(scenes)) subscriptions.set(event.data.object);
  let lastSeconds = 0;
  for (const { event, isForged = false } of scenes) {
    // Each arrives within a second, except those that arrive after newer ones.
    lastSeconds = Math.max(lastSeconds, event.created);
    const receivedAtMs = lastSeconds * SECOND_MS + 400;
    if (!isForged) await ingest([received(JSON.stringify(event), receivedAtMs)]);
  }

  const random = createRandom(SEED);
  const tasks = createJobs(
    {
      ...{ database, ingest, settle, api, nameOf, planSelection, logger, now },
      nonce: () => String(random.next()),
    },
    {
      catchUpIntervalMs: 3_600_000,
      reconcileIntervalMs: null,
      eventRetentionMs: null,
    },
  );
  for (const { run } of tasks) await run(new AbortController().signal);
  // As if each event had changed its team when it arrived.
  await query(
    `update instep.plan_changes as change
        set changed_at = coalesce(event.received_at, change.event_created_at, $1)
       from instep.plan_changes as own
       left join instep.events as event
         on event.event_id = own.event_id
        and event.customer_id = own.customer_id
      where own.id = change.id`,
    [new Date(NOW_MS - 60_000)],
  );
  await query('update instep.findings set found_at = $1', [new Date(NOW_MS - 60_000)]);
  // The database's clock is ahead of the picture's, and takes every payment that is due for long overdue.
  await query(
    `update instep.customers
        set access_since = access_since - interval '31 days',
            due_since    = due_since - interval '31 days'
      where access_status = 'past_due'`,
  );
  await recordComparison(query, NOW_MS - 12 * 60_000);
  return stripe;
}

const MINUTE_MS = 60_000;

/** Adds companies with a problem: one without its customer, one whose cancellation is missing, one changed by hand. */
async function createCases(
  query: Query,
  ingest: Ingest,
  subscriptions: ApiCollection,
  startMs: number,
): Promise<void> {
  /** An event of a company, which Stripe knows too. */
  function eventOf(
    name: string,
    minutesAgo: number,
    fields: Partial<SubscriptionEventFields>,
  ): SubscriptionEvent {
    const createdSeconds = Math.floor((startMs - minutesAgo * MINUTE_MS) / 1_000);
    const ids = { customerId: `cus_${name}`, subscriptionId: `sub_${name}` };
    const event = createSubscriptionEvent({ ...ids, createdSeconds, ...fields });
    subscriptions.set(event.data.object);
    return event;
  }
  const deliver = async (event: SubscriptionEvent) =>
    void (await ingest([received(JSON.stringify(event), event.created * SECOND_MS)]));

  // The app has not stored the customer.
  await addTeam(query, { name: 'Driftwood Couriers', customerId: null });
  await deliver(eventOf('driftwood', 40, { productId: 'prod_pro' }));

  // The cancellation event has not arrived.
  await addTeam(query, { name: 'Foxglove Legal', customerId: 'cus_foxglove' });
  await deliver(eventOf('foxglove', 170, { productId: 'prod_pro' }));
  eventOf('foxglove', 50, { productId: 'prod_pro', status: 'canceled' });

  const customerId = 'cus_moonraker';
  const teamId = await addTeam(query, { name: 'Moonraker Sails', customerId });
  await deliver(eventOf('moonraker', 160, { productId: 'prod_starter' }));
  await query(
    `update teams set provider_product_id = 'prod_pro', plan_name = 'Pro' where id = $1`,
    [teamId],
  );
}
