import { createLogger } from 'instep';
import { openContext } from 'instep/operate';
import { completeCheckout, syncCustomer } from 'instep/src/checkout/checkout.ts';
import { createCheckoutSession } from 'instep/testing';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { requestSubscriptions } from '../support/internals/repair.ts';
import { openAskingJob, passTime as passTimeIn } from '../support/service/asking-job.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { database, calls } = account;
const { query } = database;
const context = await openContext({ environment: account.environment });
afterAll(() => context.close());

/** The job of another instance, with its log lines. */
function openJob() {
  const lines: Record<string, unknown>[] = [];
  const run = openAskingJob({
    ...account.services,
    logger: createLogger('info', { write: (line) => lines.push(JSON.parse(line)) }),
  });
  return { run, lines };
}

const asked = () => calls.filter((path) => path.startsWith('/v1/subscriptions'));

const passTime = (interval: string) => passTimeIn(query, interval);

beforeEach(async () => {
  await query(
    'truncate teams, instep.customers, instep.events, instep.asked_customers, instep.products',
  );
  await query(`update instep.leased_jobs set progress = null where name = 'reconcile'`);
  account.fault = undefined;
  calls.length = 0;
});

describe('a team that is linked to a customer for the first time', () => {
  test('gets the plan of the customer from Stripe, without any event', async () => {
    const { run, lines } = openJob();
    const teamId = await account.addTeam('cus_trial');
    await account.happen(
      { customerId: 'cus_trial', status: 'trialing', productId: 'prod_pro' },
      'missed',
    );
    await run();
    expect(await account.planOf(teamId)).toMatchObject({
      plan: { subscriptionStatus: 'trialing', planName: 'Pro', providerProductId: 'prod_pro' },
    });
    expect(lines).toMatchObject([{ msg: 'drift', teamId, isRepaired: true }]);
    calls.length = 0;
    await passTime('1 hour');
    await run();
    expect(asked()).toEqual([]);
  });
});

test('a customer without a subscription is looked up at growing intervals, for a day', async () => {
  const { run } = openJob();
  await account.addTeam('cus_waiting');
  const pausesSeconds: number[] = [];
  for (let count = 0; count < 30; count += 1) {
    await run();
    const [row] = await query<{ seconds: number | null }>(
      `select ceil(extract(epoch from again_at - now()))::integer as seconds
         from instep.asked_customers`,
    );
    if (row?.seconds == null) break;
    pausesSeconds.push(row.seconds);
    await passTime(`${row.seconds + 1} seconds`);
  }
  expect(pausesSeconds[0]).toBe(5);
  expect(pausesSeconds.length).toBeLessThan(20);
  expect(pausesSeconds).toEqual(pausesSeconds.toSorted((one, other) => one - other));
  calls.length = 0;
  await passTime('30 days');
  await run();
  expect(asked()).toEqual([]);
});

test('a customer for whom Stripe fails keeps no other waiting, and is asked for again later', async () => {
  const { run } = openJob();
  const teamOf = async (customerId: string) => {
    const teamId = await account.addTeam(customerId);
    await account.happen(
      { customerId, subscriptionId: `sub_${customerId}`, status: 'trialing' },
      'missed',
    );
    return teamId;
  };
  const failing = await teamOf('cus_1_failing');
  const other = await teamOf('cus_2_other');
  const trialing = { plan: { subscriptionStatus: 'trialing' } };
  const answer500 = { status: 500, retryAfterSeconds: 0 };
  account.fault = (path) => (path.includes('cus_1_failing') ? answer500 : undefined);
  await expect(run()).rejects.toMatchObject({ code: 'STRIPE_API_FAILED' });
  await run();
  expect(await account.planOf(other)).toMatchObject(trialing);
  expect(await account.planOf(failing)).not.toMatchObject(trialing);
  account.fault = undefined;
  await passTime('1 minute');
  await run();
  expect(await account.planOf(failing)).toMatchObject(trialing);
});

test.each(['syncCustomer', 'completeCheckout'] as const)(
  'a customer for whom %s got no answer is asked for until Stripe answers, although an end is known',
  async (call) => {
    const { run } = openJob();
    const teamId = await account.addTeam('cus_again');
    await account.happen({ customerId: 'cus_again', subscriptionId: 'sub_1', status: 'canceled' });
    await run();
    const trial = { customerId: 'cus_again', subscriptionId: 'sub_2', status: 'trialing' };
    await account.happen({ ...trial, productId: 'prod_pro' }, 'missed');
    const session = createCheckoutSession({ customerId: 'cus_again', subscriptionId: 'sub_2' });
    account.checkoutSessions.set(session);

    account.fault = () => ({ status: 500, retryAfterSeconds: 0 });
    const called =
      call === 'syncCustomer'
        ? syncCustomer(context, 'cus_again')
        : completeCheckout(context, session.id, { teamId });
    await expect(called).rejects.toMatchObject({ code: 'STRIPE_UNAVAILABLE' });
    await expect(run()).rejects.toMatchObject({ code: 'STRIPE_API_FAILED' });
    account.fault = undefined;
    await passTime('1 minute');
    await openJob().run();
    expect(await account.planOf(teamId)).toMatchObject({ plan: { planName: 'Pro' } });
    calls.length = 0;
    await passTime('1 minute');
    await openJob().run();
    expect(asked()).toEqual([]);
  },
);

test('a customer for whom Stripe was never asked comes before all repetitions', async () => {
  const { run } = openJob();
  await query(`insert into teams (name, provider_customer_id)
               select 'Free', 'cus_free_' || number from generate_series(1, 12) as number`);
  await query(`insert into instep.asked_customers
               select provider_customer_id, now(), now(), now() - interval '1 minute' from teams`);
  const teamId = await account.addTeam('cus_new');
  const trial = { customerId: 'cus_new', status: 'trialing', productId: 'prod_pro' };
  await account.happen(trial, 'missed');
  await run();
  expect(asked()[0]).toContain('cus_new');
  expect(await account.planOf(teamId)).toMatchObject({ plan: { subscriptionStatus: 'trialing' } });
});

test('a customer that lost its team is asked for when a team gets it again', async () => {
  const { run } = openJob();
  const teamId = await account.addTeam('cus_moved');
  await run();
  await query('update teams set provider_customer_id = null');
  await passTime('30 days');
  await run();
  await query(`update teams set provider_customer_id = 'cus_moved'`);
  await account.happen({ customerId: 'cus_moved', status: 'trialing' }, 'missed');
  await run();
  expect(asked()).toHaveLength(2);
  expect(await account.planOf(teamId)).toMatchObject({ plan: { subscriptionStatus: 'trialing' } });
});

test('a customer of whom a subscription is known meanwhile is asked for once more', async () => {
  const { run } = openJob();
  await account.addTeam('cus_known');
  await run();
  await account.happen({ customerId: 'cus_known' });
  for (const pause of ['1 minute', '1 day']) {
    await passTime(pause);
    await run();
    expect(asked()).toHaveLength(2);
  }
  expect(await query('select from instep.asked_customers where again_at is not null')).toEqual([]);
});

test.each([false, true])(
  'a reconciliation answers the request for a customer, and asks again if it is younger (%s)',
  async (isYounger) => {
    await account.addTeam('cus_asked');
    await account.happen({ customerId: 'cus_asked', status: 'active' });
    const request = () => requestSubscriptions(query, 'cus_asked', Date.now());
    let requested = isYounger ? undefined : request();
    await requested;
    account.fault = (path) => {
      if (path.startsWith('/v1/subscriptions')) requested ??= request();
      return undefined;
    };
    calls.length = 0;
    await account.compare(false);
    await requested;
    await openJob().run();
    const askedAlone = asked().filter((path) => path.includes('customer='));
    expect(askedAlone).toHaveLength(isYounger ? 1 : 0);
  },
);
