import { CONTRACT_FIELDS, type Plan, reportedBy } from 'instep-engine/rule';
import { expect, test } from 'vitest';
import { eventOf } from '../support/events.ts';

type JsonObject = ReturnType<typeof eventOf>['object'];

const reported = (object: JsonObject) => reportedBy(eventOf({ object }));
const plan = (object: JsonObject): Plan => reported(object).plan;

test('a field that Stripe did not send is missing, and one of the contract is null', () => {
  expect(plan({})).toEqual({
    subscriptionStatus: 'active',
    planName: 'Pro',
    providerProductId: 'prod_1',
    providerSubscriptionId: 'sub_1',
  });
});

test.each<[string, JsonObject, string | undefined]>([
  ['of the first item', { items: { data: [{ price: { id: 'price_1' } }, {}] } }, 'price_1'],
  ['of a plan, before prices', { items: { data: [{ plan: { id: 'plan_1' } }] } }, 'plan_1'],
  ['of the subscription, before items', { plan: { id: 'plan_1' } }, 'plan_1'],
  ['as long as an id can be', { plan: { id: 'p'.repeat(255) } }, 'p'.repeat(255)],
  ['no longer', { plan: { id: 'p'.repeat(256) } }, undefined],
  ['no number', { plan: { id: 1 } }, undefined],
  ['no text that PostgreSQL refuses', { plan: { id: 'a\0' } }, undefined],
  ['no half of a character', { plan: { id: '\ud800' } }, undefined],
])('the price is %s', (_, object, priceId) => {
  expect(plan(object).priceId).toBe(priceId);
});

test.each<[string, JsonObject, number | undefined]>([
  ['of the subscription', { current_period_end: 60 }, 60],
  [
    'of the item that ends first',
    {
      current_period_end: 90,
      items: { data: [{ current_period_end: 70 }, null, { current_period_end: 60 }] },
    },
    60,
  ],
  ['unknown, without items', { items: { data: [] } }, undefined],
  ['the last second of the year 9999', { current_period_end: 253_402_300_799 }, 253_402_300_799],
  ['not in milliseconds', { current_period_end: 253_402_300_800 }, undefined],
  ['not before 1970', { current_period_end: -1 }, undefined],
  ['not within a second', { current_period_end: 1.5 }, undefined],
  ['no text', { current_period_end: '60' }, undefined],
])('the end of the period is %s', (_, object, seconds) => {
  expect(plan(object).currentPeriodEndsAt).toBe(seconds);
});

test('the contract has four fields', () => {
  expect(CONTRACT_FIELDS).toEqual(Object.keys(plan({})));
});

test('a planned end is a time', () => {
  expect(reported({ cancel_at: 60 }).cancelAtSeconds).toBe(60);
  expect(reported({ cancel_at: '60' }).cancelAtSeconds).toBeNull();
});

test('the quantity is that of the first item, or of the subscription before items', () => {
  expect(plan({ quantity: 3, items: { data: [{ quantity: 2 }] } }).quantity).toBe(2);
  expect(plan({ quantity: 3 }).quantity).toBe(3);
  expect(plan({ quantity: 0 }).quantity).toBe(0);
});

test('a flag that is no flag is missing', () => {
  expect(plan({ cancel_at_period_end: false }).cancelAtPeriodEnd).toBe(false);
  expect(plan({ cancel_at_period_end: 'false' }).cancelAtPeriodEnd).toBeUndefined();
});

test('collection is paused or not, or the event does not say', () => {
  expect(reported({ pause_collection: { behavior: 'void' } }).isCollectionPaused).toBe(true);
  expect(reported({ pause_collection: null }).isCollectionPaused).toBe(false);
  expect(reported({}).isCollectionPaused).toBeNull();
});

test('the end of a trial does only what is known', () => {
  const trial = (action: string) =>
    reported({ trial_settings: { end_behavior: { missing_payment_method: action } } });
  expect(trial('cancel').trialEndAction).toBe('cancel');
  expect(trial('create_invoice').trialEndAction).toBeNull();
});
