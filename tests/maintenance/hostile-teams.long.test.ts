import { type ApplicationId, createLogger, openInstep, readConfig } from 'instep';
import {
  ApiCollection,
  createSubscriptionEvent,
  signedRequest,
  startFakeStripeApi,
} from 'instep/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createRandom } from '../../simulation/random.ts';
import { rebuild } from '../support/internals/repair.ts';
import { addTeam, readTeam } from '../support/internals/rows.ts';
import {
  dropRole,
  HOSTILE_TEAMS,
  holdLock,
  makeHostile,
  setHostile,
} from '../support/postgres/hostile-teams.ts';
import { connect, createDatabase } from '../support/postgres/test-database.ts';
import { SETTINGS } from '../support/process/instep-process.ts';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { openWholePipeline } from '../support/service/pipelines.ts';

/** How Instep gets to know a team's subscription. */
const WAYS = ['delivered', 'parked', 'missed', 'compared'] as const;
const TEAMS = 40;
const HOSTILE_SHARE = 0.4;
const PRODUCTS = 3;
/** Twice the timeout of a request for each of the jobs that can wait for a team. */
const DEADLINE_MS = 90_000;
const SEEDS = [1, 2, Date.now()];

test.each(SEEDS)(
  'hostile teams keep no other team from its plan (seed %i)',
  async (seed) => {
    const random = createRandom(seed);
    const { url, database } = await createDatabase();
    const { query } = database;
    const productNames: Record<string, string> = { prod_0: 'Base', prod_1: 'Pro' };
    const [subscriptions, customers, events] = [
      new ApiCollection(),
      new ApiCollection(),
      new ApiCollection(),
    ];
    const stripe = await startFakeStripeApi({ productNames, subscriptions, customers, events });
    const roleUrl = await makeHostile(query, url);
    const release = await holdLock(url);
    const config = readConfig({
      ...SETTINGS,
      DATABASE_URL: roleUrl.href,
      STRIPE_API_BASE: stripe.url,
      CATCH_UP_INTERVAL: '2s',
      RECONCILE_INTERVAL: '2s',
    });
    const instep = await openInstep({ config, logger: createLogger('silent') });
    onTestFinished(async () => {
      await instep.close();
      await release();
      await dropRole(query, roleUrl);
      await database.close();
      await stripe.close();
    });

    const teams = Array.from({ length: TEAMS }, (_, index) => {
      const customerId = `cus_${index}`;
      const productId = `prod_${random.below(PRODUCTS)}`;
      const name = random.chance(HOSTILE_SHARE) ? random.pick(HOSTILE_TEAMS) : 'healthy';
      const event = createSubscriptionEvent({ customerId, productId });
      return { name, customerId, productId, event, way: random.pick(WAYS) };
    });
    const healthyIds = new Map<ApplicationId, string>();
    /** As Stripe does, delivers the event of a healthy team again after any other status than 200. */
    async function deliver({ name, event }: (typeof teams)[number]): Promise<void> {
      const signal = AbortSignal.timeout(DEADLINE_MS);
      for (;;) {
        const request = signedRequest(event, WEBHOOK_SECRET);
        const { status } = await instep.fetch(new Request('http://x/api/stripe/webhook', request));
        if (name !== 'healthy' || status === 200) return;
        signal.throwIfAborted();
      }
    }
    await Promise.all(
      teams.map(async (team) => {
        const { name, way, customerId, productId, event } = team;
        if (way === 'parked') await deliver(team);
        const teamId = await addTeam(query, { name, customerId });
        if (name === 'healthy') healthyIds.set(teamId, productId);
        customers.set({ id: customerId });
        subscriptions.set(event.data.object);
        if (way === 'missed') events.set(event);
        if (way === 'delivered') await deliver(team);
      }),
    );
    productNames.prod_2 = 'Team';

    const expectPlans = async () => {
      for (const [teamId, productId] of healthyIds) {
        expect((await readTeam(query, teamId))?.plan).toMatchObject({
          planName: productNames[productId],
          providerProductId: productId,
          subscriptionStatus: 'active',
        });
      }
    };
    await vi.waitFor(expectPlans, { timeout: DEADLINE_MS, interval: 250 });

    // Afterward, the log also has the events of hostile teams.
    await setHostile(query, false);
    await Promise.all(teams.map(deliver));
    await instep.close();
    await query(`
      update teams
         set plan_name = null,
             provider_product_id = null,
             provider_subscription_id = null,
             subscription_status = null`);
    await setHostile(query, true);
    const app = connect(roleUrl);
    const failed: string[] = [];
    const onFailure = ({ customerId }: { customerId: string }) => failed.push(customerId);
    const { settle } = openWholePipeline(app);
    const options = { planSelection: 'newest', settle, isDryRun: false, onFailure } as const;
    for await (const _ of rebuild(app, options));
    await app.close();
    expect(failed).not.toEqual([]);
    await expectPlans();
  },
  240_000,
);
