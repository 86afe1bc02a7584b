import { randomUUID } from 'node:crypto';
import { createSubscriptionEvent, signedRequest, startFakeStripeApi } from 'instep/testing';
import pg from 'pg';
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest';

const {
  APP_URL = '',
  DATABASE_URL,
  STRIPE_API_BASE = '',
  STRIPE_WEBHOOK_SECRET = '',
} = process.env;
const database = new pg.Pool({ connectionString: DATABASE_URL });
afterAll(() => database.end());

beforeEach(async () => {
  const stripe = await startFakeStripeApi({
    port: Number(new URL(STRIPE_API_BASE).port),
    productNames: { prod_pro: 'Pro' },
  });
  onTestFinished(() => stripe.close());
});

/** Posts an event to the app, as Stripe does. */
async function post(event: object): Promise<number> {
  const request = signedRequest(event, STRIPE_WEBHOOK_SECRET);
  return (await fetch(`${APP_URL}/api/stripe/webhook`, request)).status;
}

/** A team of a new customer, so that the tests can run again with the same database. */
async function addTeam(): Promise<{ teamId: number; customerId: string }> {
  const customerId = `cus_${randomUUID()}`;
  const insert = 'insert into teams (name, provider_customer_id) values ($1, $2) returning id';
  const { rows } = await database.query(insert, ['Acme', customerId]);
  return { teamId: rows[0].id, customerId };
}

test('a payment gives the team its plan', async () => {
  const { teamId, customerId } = await addTeam();
  expect(await post(createSubscriptionEvent({ customerId, productId: 'prod_pro' }))).toBe(200);
  const select = 'select plan_name, subscription_status from teams where id = $1';
  const { rows } = await database.query(select, [teamId]);
  expect(rows).toEqual([{ plan_name: 'Pro', subscription_status: 'active' }]);
  // Now request a page of the app, and expect what it shows to a team with this plan.
});

test('the app knows when a trial ends', async () => {
  const { teamId, customerId } = await addTeam();
  const trialEndSeconds = Math.floor(Date.now() / 1_000) + 3 * 24 * 60 * 60;
  const event = createSubscriptionEvent({ customerId, status: 'trialing', trialEndSeconds });
  expect(await post(event)).toBe(200);
  const select = 'select reason, trial_ends_at from instep.team_access where team_id = $1';
  const { rows } = await database.query(select, [teamId]);
  expect(rows).toEqual([{ reason: 'trialing', trial_ends_at: new Date(trialEndSeconds * 1_000) }]);
});
