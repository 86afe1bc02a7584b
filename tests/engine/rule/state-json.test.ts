import {
  asObject,
  foldAll,
  readState,
  StateNewer,
  StateUnreadable,
  writeState,
} from 'instep-engine/rule';
import { expect, test } from 'vitest';
import { eventOf } from '../support/events.ts';

const text = writeState(foldAll([eventOf()]));
const stored = JSON.parse(text);
const [subscription] = stored.subscriptions;

test('what does not apply is left out, and a report that both decides and is the latest is written once', () => {
  expect(subscription).toEqual({
    id: 'sub_1',
    latest: {
      created: 10,
      subscriptionStatus: 'active',
      planName: 'Pro',
      providerProductId: 'prod_1',
      providerSubscriptionId: 'sub_1',
    },
    since: 10,
    deciding: 'latest',
  });
});

test('a state that a newer version wrote is refused, with what to do', () => {
  expect(() => readState(JSON.stringify({ ...stored, version: 2 }))).toThrow(StateNewer);
  expect(() => readState(JSON.stringify({ ...stored, version: 2 }))).toThrow(
    'update this instance',
  );
});

test.each([
  ['no object', null, 'its version'],
  ['no version', { ...stored, version: undefined }, 'its version'],
  ['a version that is no number', { ...stored, version: '1' }, 'its version'],
  ['no subscriptions', { ...stored, subscriptions: {} }, 'its subscriptions'],
  ...[
    null,
    { ...subscription, latest: undefined },
    { ...subscription, since: undefined },
    { ...subscription, latest: { ...subscription.latest, created: undefined } },
    { ...subscription, latest: { ...subscription.latest, subscriptionStatus: 1 } },
  ].map((one) => [JSON.stringify(one), { ...stored, subscriptions: [one] }, 'the latest event']),
])('a state with %s is refused, with what to do', (_, changed, lacks) => {
  const read = () => readState(JSON.stringify(changed));
  expect(read).toThrow(StateUnreadable);
  expect(read).toThrow(expect.objectContaining({ code: 'STATE_UNREADABLE' }));
  expect(read).toThrow(`lacks ${lacks}`);
  expect(read).toThrow('rebuild it');
});

test('only a JSON object is an object, not a list, null or a missing value', () => {
  const object = { id: 'sub_1' };
  expect(asObject(object)).toBe(object);
  for (const other of [['sub_1'], null, 'sub_1', 7, true, undefined]) {
    expect(asObject(other)).toBeNull();
  }
});
