import {
  createActivity,
  createCases,
  inTrueOrder,
  PRODUCT_NAMES,
  walkthrough,
} from 'instep/src/cli/demo/scenes.ts';
import { IngestPipeline } from 'instep/src/ingest/pipeline.ts';
import { createJobs } from 'instep/src/maintenance/jobs.ts';
import type { Database } from 'instep/src/postgres/database.ts';
import { addTeam } from 'instep/src/postgres/statements/teams.ts';
import { createLogger } from 'instep/src/runtime/logging.ts';
import { createStripeApi } from 'instep/src/stripe/api.ts';
import {
  ApiCollection,
  type FakeStripeApi,
  startFakeStripeApi,
} from 'instep/src/testing/fake-stripe-api.ts';
import { createRandom } from '../../../simulation/random.ts';
import { API_KEY } from '../../support/secrets/test-secrets.ts';
import { recordComparison } from '../../support/service/comparison.ts';
import { received } from '../../support/stripe/events.ts';

/** The time of the screenshots. */
export const NOW_MS = Date.UTC(2026, 9, 14, 15, 30, 20);

const SEED = 14;
const SUFFIX = 'k3x9';
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
  const { ingest, nameOf } = new IngestPipeline({
    database,
    api,
    logger,
    planSelection,
    maxQueued: 10_000,
  });

  await addTeam(query, { name: "Ada's team", customerId: `cus_${SUFFIX}` });
  const activity = {
    query,
    ingest,
    subscriptions,
    suffix: SUFFIX,
    startMs: NOW_MS - 100 * SECOND_MS,
  };
  await createCases(activity);
  await createActivity(activity);
  const scenes = walkthrough(SUFFIX, NOW_MS / SECOND_MS - 80);
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
      ...{ database, ingest, api, nameOf, planSelection, logger, now },
      nonce: () => String(random.next()),
    },
    {
      catchUpIntervalMs: 3_600_000,
      reconcileIntervalMs: null,
      eventRetentionMs: null,
      planHistoryRetentionMs: null,
    },
  );
  for (const { run } of tasks) await run(new AbortController().signal);
  // As if each event had changed its team when it arrived.
  await query(
    `update instep.plan_changes as change
        set changed_at     = coalesce(event.received_at, change.event_created_at, $1),
            possible_since = case when change.possible_since is not null then $1 - interval '1 hour' end
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
    "update instep.subscriptions set latest_since = latest_since - interval '31 days' where latest_status = 'past_due'",
  );
  await recordComparison(query, NOW_MS - 12 * 60_000);
  return stripe;
}
