import { describe, expect, test } from 'vitest';
import { eventBody } from '../../support/stripe/events.ts';
import { openExaminedAccount, troublesOf } from '../../support/stripe/examined-account.ts';

const HOUR_MS = 3_600_000;
const secondsAgo = (seconds: number) => Math.floor(Date.now() / 1_000) - seconds;

/** An account with a team, for the customer of `eventBody`. */
async function openAccount() {
  const account = await openExaminedAccount();
  await account.database.query(
    `insert into teams (name, provider_customer_id) values ('Acme', 'cus_1')`,
  );
  return account;
}

const inMode = (livemode: boolean) => JSON.stringify({ ...JSON.parse(eventBody()), livemode });

describe('the last event', () => {
  test('none is a warning, and one says how long ago it came', async () => {
    const account = await openAccount();
    expect(troublesOf(await account.examine())).toEqual([
      'warning last event: none was ever delivered',
    ]);
    await account.deliver(eventBody(), Date.now() - 3 * HOUR_MS);
    const { checks } = await account.examine();
    expect(checks.find(({ name }) => name === 'last event')).toMatchObject({
      state: 'ok',
      finding: '3 h ago',
    });
  });

  test('one that Stripe made and that never came is a warning', async () => {
    const account = await openAccount();
    const created = secondsAgo(3_600);
    await account.deliver(eventBody({ createdSeconds: secondsAgo(7_200) }));
    account.events.set({ id: 'evt_1', type: 'customer.subscription.updated', created });
    expect(troublesOf(await account.examine())).toEqual([
      expect.stringMatching(
        /^warning last event: \d s ago; an event that Stripe created 60 min ago is not/,
      ),
    ]);
    await account.deliver(eventBody({ createdSeconds: created }));
    expect(troublesOf(await account.examine())).toEqual([]);
  });

  test('one that Stripe has just made may be on its way', async () => {
    const account = await openAccount();
    await account.deliver(eventBody());
    const type = 'customer.subscription.updated';
    account.events.set({ id: 'evt_1', type, created: secondsAgo(5) });
    expect(troublesOf(await account.examine())).toEqual([]);
  });
});

describe('the mode of the events', () => {
  test.each([
    ['sk_test_canaryKey', false, []],
    ['rk_live_canaryKey', true, []],
    ['sk_live_canaryKey', false, [/^failure event mode: test, but the API key is in live mode/]],
    ['rk_test_canaryKey', true, [/^failure event mode: live, but the API key is in test mode/]],
  ])('with %s, livemode %s', async (STRIPE_SECRET_KEY, livemode, troubles) => {
    const account = await openAccount();
    await account.deliver(inMode(livemode));
    const ended = await account.examine({ STRIPE_SECRET_KEY });
    expect(troublesOf(ended)).toEqual(troubles.map((trouble) => expect.stringMatching(trouble)));
  });

  test('both in one log is a warning', async () => {
    const account = await openAccount();
    await account.deliver(inMode(true));
    await account.deliver(inMode(false));
    const troubles = troublesOf(await account.examine());
    expect(troubles).toEqual([expect.stringMatching(/^warning event mode: test and live/)]);
  });
});

test('parked events are counted, with their customers', async () => {
  const account = await openAccount();
  for (const customerId of ['cus_1', 'cus_2', 'cus_2', 'cus_3']) {
    await account.deliver(eventBody({ customerId }), Date.now() - 2 * HOUR_MS);
  }
  const ended = await account.examine();
  expect(ended.code).toBe(0);
  expect(troublesOf(ended)).toEqual([
    'warning parked events: 3 of 2 customers without a team, the oldest for 2 h',
  ]);
});

test('unreadable events are a warning', async () => {
  const account = await openAccount();
  const odd = { ...JSON.parse(eventBody()), data: { object: { status: 7 } } };
  await account.deliver(JSON.stringify(odd));
  expect(troublesOf(await account.examine())).toEqual([
    expect.stringMatching(/^warning unreadable events: 1 of /),
  ]);
});

test('ties that nobody has decided are a warning, and not at once', async () => {
  const account = await openAccount();
  await account.deliver(eventBody({ createdSeconds: secondsAgo(3_600) }));
  const mark = (createdAt: string) =>
    account.database.query(
      `update instep.subscriptions set is_order_ambiguous = true, created_at = ${createdAt}`,
    );
  await mark('now()');
  expect(troublesOf(await account.examine())).toEqual([]);
  await mark(`now() - interval '1 hour'`);
  expect(troublesOf(await account.examine())).toEqual([
    expect.stringMatching(/^warning event order: 1 subscription /),
  ]);
});

test('products without a name are a warning', async () => {
  const account = await openAccount();
  await account.deliver(eventBody());
  await account.database.query(`insert into instep.products (product_id) values ('prod_nameless')`);
  expect(troublesOf(await account.examine())).toEqual([
    expect.stringMatching(/^warning product names: 1 product /),
  ]);
});
