import {
  type CustomerState,
  foldAll,
  NO_STATE,
  type PlanInRow,
  planWriterOf,
} from 'instep-engine/rule';
import { expect, test } from 'vitest';
import { eventOf } from '../support/events.ts';

const item = (id: string) => ({ items: { data: [{ price: { id } }] } });
const active = eventOf({ createdSeconds: 1, object: item('price_1') });
const ended = eventOf({ createdSeconds: 2, status: 'canceled' });
const ACTIVE = foldAll([active], 'newest');
const ENDED = foldAll([active, ended], 'newest');

const GIFT = { planName: 'Gift', subscriptionStatus: 'active' };

test.each<[string, PlanInRow, CustomerState, string]>([
  ['without a subscription, of a customer who never had one', GIFT, NO_STATE, 'app'],
  ['without a column for the subscription, of one whose has ended', GIFT, ENDED, 'by hand'],
  ['without a subscription', { ...GIFT, providerSubscriptionId: null }, ENDED, 'app'],
  ['of nobody knows which', { providerSubscriptionId: 'sub_9' }, ENDED, 'unknown subscription'],
  ['of the price that was paid', { priceId: 'price_1' }, ACTIVE, 'instep'],
  ['of another price', { priceId: 'price_2' }, ACTIVE, 'by hand'],
  [
    'in whose new column nothing was written yet',
    { providerSubscriptionId: 'sub_1', priceId: null },
    ACTIVE,
    'instep',
  ],
])('a plan %s', (_, row, state, expected) => {
  expect(planWriterOf(row, state)).toBe(expected);
});
