import {
  type CustomerState,
  foldAll,
  NO_PLAN,
  NO_STATE,
  type PlanInRow,
  planWriterOf,
  teamPlan,
} from 'instep-engine/rule';
import { expect, test } from 'vitest';
import { eventOf } from '../support/events.ts';

const item = (id: string) => ({ items: { data: [{ price: { id } }] } });
const active = eventOf({ createdSeconds: 1, object: item('price_1') });
const ended = eventOf({ createdSeconds: 2, status: 'canceled' });
const ACTIVE = foldAll([active]);
const ENDED = foldAll([active, ended]);

const NAMELESS = foldAll([eventOf({ subscriptionId: null })]);
const NAMELESS_PLAN = teamPlan(NAMELESS, 'newest', new Map()) ?? NO_PLAN;
const PAID = teamPlan(ACTIVE, 'newest', new Map()) ?? NO_PLAN;

const other = eventOf({ subscriptionId: 'sub_2', createdSeconds: 9, status: 'unpaid' });
const TWO = foldAll([active, other]);
const END_OF_ANOTHER = { ...NO_PLAN, subscriptionStatus: 'unpaid' };

const GIFT = { planName: 'Gift', subscriptionStatus: 'active' };

test.each<[string, PlanInRow, CustomerState, string]>([
  ['without a subscription, of a customer who never had one', GIFT, NO_STATE, 'app'],
  ['without a column for the subscription, of one whose has ended', GIFT, ENDED, 'by hand'],
  ['without a subscription', { ...GIFT, providerSubscriptionId: null }, ENDED, 'app'],
  ['with a live one beside it', { ...GIFT, providerSubscriptionId: null }, ACTIVE, 'by hand'],
  ['of an event without a subscription', NAMELESS_PLAN, NAMELESS, 'instep'],
  ['under another name', { ...PAID, planName: 'Former name' }, ACTIVE, 'instep'],
  ['of another product', { ...PAID, providerProductId: 'prod_2' }, ACTIVE, 'by hand'],
  ['that an end cleared', { ...NO_PLAN, subscriptionStatus: 'canceled' }, ENDED, 'instep'],
  ['of nobody knows which', { providerSubscriptionId: 'sub_9' }, ENDED, 'unknown subscription'],
  ['of the price that was paid', { priceId: 'price_1' }, ACTIVE, 'instep'],
  ['of another price', { priceId: 'price_2' }, ACTIVE, 'by hand'],
  ['of the newest subscription', END_OF_ANOTHER, TWO, 'instep'],
  ['of the best subscription', PAID, TWO, 'instep'],
  [
    'in whose new column nothing was written yet',
    { providerSubscriptionId: 'sub_1', priceId: null },
    ACTIVE,
    'instep',
  ],
])('a plan %s', (_, row, state, expected) => {
  expect(planWriterOf(row, state)).toBe(expected);
});
