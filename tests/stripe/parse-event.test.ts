import { BodyNotJson } from 'instep';
import { expect, test } from 'vitest';
import { parseEvent } from '../support/internals/stripe.ts';

const receipt = { receivedAtMs: 1_700_000_000_999, nonce: () => 'nonce' };
const parse = (value: unknown) => parseEvent(JSON.stringify(value), receipt);

function event(subscription: unknown, envelope: object = {}) {
  return {
    id: 'evt_1',
    type: 'customer.subscription.updated',
    created: 1_600_000_000,
    data: { object: subscription },
    ...envelope,
  };
}

const base = { id: 'sub_1', customer: 'cus_1', status: 'active' };

/** The parsed subscription with these members in addition to the base's. */
function subscriptionOf(members: object) {
  const parsed = parse(event({ ...base, ...members }));
  return parsed.kind === 'readable' ? parsed.subscription : parsed;
}

const items = (...entries: unknown[]) => ({ items: { data: entries } });

test.each([
  ['plan.product as an id', items({ plan: { product: 'prod_1' } }), 'prod_1', null],
  [
    'plan.product as an object',
    items({ plan: { product: { id: 'prod_1', name: 'Pro' } } }),
    'prod_1',
    'Pro',
  ],
  ['plan.product null', items({ plan: { product: null } }), null, null],
  ['plan without a product', items({ plan: { id: 'plan_1' } }), null, null],
  ['only price', items({ price: { product: 'prod_1' } }), 'prod_1', null],
  [
    'only price, its product an object',
    items({ price: { product: { id: 'prod_1', name: 'Pro' } } }),
    'prod_1',
    'Pro',
  ],
  ['plan null beside price', items({ plan: null, price: { product: 'prod_1' } }), 'prod_1', null],
  ['neither plan nor price', items({ id: 'si_1' }), null, null],
  [
    'several items: the first',
    items({ plan: { product: 'prod_1' } }, { plan: { product: 'prod_2' } }, 7),
    'prod_1',
    null,
  ],
  ['no items', items(), null, null],
  ['items without data', { items: {} }, null, null],
  ['items null', { items: null }, null, null],
  ['neither items nor plan', {}, null, null],
  ['the name in plan.name', items({ plan: { name: 'Gold', product: null } }), null, 'Gold'],
  [
    'no plan.name beside a product id (2017-01-27): the name is the product’s',
    items({ plan: { name: 'Gold monthly', product: 'prod_1' } }),
    'prod_1',
    null,
  ],
  ["the subscription's own plan.name", { plan: { name: 'Basic' } }, null, 'Basic'],
  ['the plan null', { plan: null }, null, null],
  ['a name that contains NUL', items({ plan: { product: { id: 'p', name: '\0' } } }), 'p', null],
  ['a name that is not a string', items({ plan: { product: { id: 'p', name: 7 } } }), 'p', null],
])('reads %s', (_, members, productId, planName) => {
  expect(subscriptionOf(members)).toEqual({
    customerId: 'cus_1',
    subscriptionId: 'sub_1',
    status: 'active',
    productId,
    planName,
    createdSeconds: 1_600_000_000,
  });
});

test('reads the customer from an object', () => {
  expect(subscriptionOf({ customer: { id: 'cus_2', email: 'x' } })).toMatchObject({
    customerId: 'cus_2',
  });
});

test('an event without created counts as created on receipt', () => {
  const parsed = parse(event(base, { created: undefined }));
  expect(parsed).toMatchObject({ subscription: { createdSeconds: 1_700_000_000 } });
});

test.each([
  ['id', { id: 'evt_2' }],
  ['type', { type: 'customer.subscription.deleted' }],
  ['created', { created: 1_600_000_001 }],
  ['content', { data: { object: { ...base, metadata: { note: 'x' } } } }],
  ['previous attributes', { data: { object: base, previous_attributes: { status: 'x' } } }],
])('another %s makes it another event', (_, envelope) => {
  expect(parse(event(base, envelope))).not.toMatchObject({ key: keyOf(event(base)) });
});

test('an event without an id is never a duplicate', () => {
  let count = 0;
  const nonce = () => {
    count += 1;
    return String(count);
  };
  const text = JSON.stringify(event(base, { id: undefined }));
  const [first, second] = [1, 2].map(() => parseEvent(text, { ...receipt, nonce }));
  expect(first).not.toEqual(second);
});

const LONG = 'x'.repeat(12_000);

test.each([
  ['no data', event(base, { data: undefined })],
  ['no object', event(null)],
  ['a list as the object', event([])],
  ['no customer', event({ ...base, customer: undefined })],
  ['a customer null', event({ ...base, customer: null })],
  ['a customer that is a number', event({ ...base, customer: 7 })],
  ['an empty customer', event({ ...base, customer: '' })],
  ['a customer with NUL', event({ ...base, customer: 'cus_\0' })],
  ['a customer with half a surrogate pair', event({ ...base, customer: 'cus_\ud800' })],
  ['a customer of 12 kB', event({ ...base, customer: LONG })],
  ['a subscription id of 12 kB', event({ ...base, id: LONG })],
  ['an event id of 12 kB', event(base, { id: LONG })],
  ['a product id of 12 kB', event({ ...base, ...items({ plan: { product: LONG } }) })],
  ['no status', event({ ...base, status: undefined })],
  ['a status with NUL', event({ ...base, status: 'active\0' })],
  ['created as text', event(base, { created: '2020-01-01' })],
  ['created with a fraction', event(base, { created: 1.5 })],
  ['created before 1970', event(base, { created: -1 })],
  ['created in the distant future', event(base, { created: 1e15 })],
  ['an item that is null', event({ ...base, ...items(null) })],
  ['items that are a number', event({ ...base, items: 7 })],
])('%s is unreadable, and keeps type and id', (_, value) => {
  expect(parse(value)).toMatchObject({
    kind: 'unreadable',
    type: 'customer.subscription.updated',
    eventId: expect.stringMatching(/^(evt_1|x{255})$/),
    problem: expect.any(String),
  });
});

test.each([
  ['data.object.customer: is missing', event({ ...base, customer: undefined })],
  ['data.object.customer: expected (string | Object)', event({ ...base, customer: 7_654 })],
  ['data.object.status: holds NUL or a lone surrogate', event({ ...base, status: 'secret\0' })],
  ['data.object.id: expected <=255', event({ ...base, id: LONG })],
  ['created: is not a whole number', event(base, { created: 1.5 })],
  ['created: expected number', event(base, { created: 'secret' })],
])('the problem names the path, "%s", and quotes nothing', (problem, value) => {
  expect(parse(value)).toMatchObject({ problem });
});

test.each([null, [], 7, 'text', {}, { type: 7 }, { type: null }])('%j is not an event', (value) => {
  expect(parse(value).kind).toBe('not-an-event');
});

test('other types are not handled', () => {
  expect(parse(event(base, { type: 'invoice.paid' }))).toEqual({
    kind: 'unhandled',
    eventId: 'evt_1',
    type: 'invoice.paid',
  });
});

test.each(['', '{', 'undefined', "{'a':1}", '\uFEFF{}'])('"%s" is not JSON', (text) => {
  expect(() => parseEvent(text, receipt)).toThrow(BodyNotJson);
});

function keyOf(value: unknown): string | null {
  const parsed = parse(value);
  return 'key' in parsed ? parsed.key : null;
}
