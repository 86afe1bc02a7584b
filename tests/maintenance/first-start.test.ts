import { ApiCollection, createSubscriptionEvent, startFakeStripeApi } from 'instep/testing';
import { expect, test } from 'vitest';
import { atEndOfFile } from '../support/end-of-file.ts';
import { createStripeApi } from '../support/internals/stripe.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { API_KEY } from '../support/secrets/test-secrets.ts';
import { createJobsWithoutStripe } from '../support/service/jobs-without-stripe.ts';
import { openWholePipeline } from '../support/service/pipelines.ts';

const TEAMS = 20;
const LIVE_SECONDS = 1_750_000_000;

const { signal } = new AbortController();

/** An app with subscribers, beside which Instep starts: Stripe's events end an older subscription of each. */
async function startBesideApp({ canList }: { readonly canList: boolean }) {
  const { database } = await createDatabase();
  const { query } = database;
  const [subscriptions, events] = [new ApiCollection(), new ApiCollection()];
  for (let index = 0; index < TEAMS; index += 1) {
    const customerId = `cus_${index}`;
    const live = { customerId, subscriptionId: `sub_live_${index}`, createdSeconds: LIVE_SECONDS };
    const ended = { customerId, subscriptionId: `sub_old_${index}`, status: 'canceled' };
    const end = createSubscriptionEvent({ ...ended, createdSeconds: LIVE_SECONDS + 60 });
    events.set(end);
    subscriptions.set(createSubscriptionEvent(live).data.object);
    subscriptions.set({ ...end.data.object, created: LIVE_SECONDS - 60 });
    await query(
      `insert into teams (name, provider_customer_id, provider_subscription_id,
                          provider_product_id, plan_name, subscription_status)
       values ('Team', $1, $2, 'prod_example', 'Pro', 'active')`,
      [customerId, live.subscriptionId],
    );
  }
  const server = await startFakeStripeApi({
    productNames: { prod_example: 'Pro' },
    subscriptions,
    events,
    onCall(path) {
      return canList || path.startsWith('/v1/events') ? undefined : { status: 403 };
    },
  });
  atEndOfFile(server.close);
  const { ingest, settle } = openWholePipeline(database);
  const jobs = createJobsWithoutStripe(
    {
      ...{ database, ingest, settle },
      api: createStripeApi({ secretKey: API_KEY, baseUrl: new URL(server.url) }),
      nameOf: async () => 'Pro',
    },
    { catchUpIntervalMs: 3_600_000, reconcileIntervalMs: 86_400_000 },
  );
  const run = async (name: string) => await jobs.find((job) => job.name === name)?.run(signal);
  const activeTeams = async () =>
    await query(`select from teams where subscription_status = 'active'`);
  return { run, activeTeams, query };
}

test('teams are compared with Stripe before events that are older than their plans are applied', async () => {
  const { run, activeTeams, query } = await startBesideApp({ canList: true });
  await run('catch-up');
  expect(await activeTeams()).toHaveLength(TEAMS);
  expect(await query('select from instep.events where event_id is not null')).toHaveLength(TEAMS);
});

test("teams keep their plans where the key can't list subscriptions", async () => {
  const { run, activeTeams } = await startBesideApp({ canList: false });
  await expect(run('reconcile')).rejects.toMatchObject({ isForbidden: true });
  await expect(run('catch-up')).rejects.toMatchObject({ isForbidden: true });
  expect(await activeTeams()).toHaveLength(TEAMS);
});
