import { foldAll } from 'instep-engine/rule';
import { redactBody } from 'instep-engine/src/repair/redact.ts';
import { expect, test } from 'vitest';
import { renderHistory } from '../../simulation/lifecycle/history.ts';
import { createRandom } from '../../simulation/random.ts';
import { createWorld } from '../../simulation/world.ts';
import { parseBody } from '../support/internals/stripe.ts';

/** Equal for equal strings, and different for the two descriptions below. */
const pseudonymOf = (text: string) => `redacted ${text.length}${text.endsWith('1') ? '!' : ''}`;

function redacted(value: unknown): unknown {
  const body = redactBody(Buffer.from(JSON.stringify(value)), pseudonymOf);
  return JSON.parse(new TextDecoder().decode(body));
}

test('removes personal data at any depth, and keeps the values that Instep reads', () => {
  const event = {
    id: 'evt_1',
    type: 'customer.subscription.updated',
    created: 1_700_000_000,
    data: {
      object: {
        id: 'sub_1',
        customer: { id: 'cus_1', email: 'ada@example.com', name: 'Ada' },
        status: 'active',
        description: 'for Ada',
        metadata: { id: 'ada', 'ada@example.com': 'vip' },
        default_payment_method: { id: 'pm_1', billing_details: { name: 'Ada', phone: '22' } },
        trial_settings: { end_behavior: { missing_payment_method: 'cancel' } },
        items: { data: [{ plan: { product: { id: 'prod_1', name: 'Pro' }, nickname: 'Ada' } }] },
      },
      previous_attributes: { description: 'for Bob', quantity: 2 },
    },
  };
  expect(redacted(event)).toEqual({
    ...event,
    data: {
      object: {
        ...event.data.object,
        customer: { id: 'cus_1', email: 'redacted 15', name: 'redacted 3' },
        description: 'redacted 7',
        metadata: { 'redacted 2': 'redacted 3', 'redacted 15': 'redacted 3' },
        default_payment_method: {
          id: 'pm_1',
          billing_details: { name: 'redacted 3', phone: 'redacted 2' },
        },
        items: {
          data: [{ plan: { product: { id: 'prod_1', name: 'Pro' }, nickname: 'redacted 3' } }],
        },
      },
      previous_attributes: { description: 'redacted 7', quantity: 2 },
    },
  });
});

/** An event whose description, which is personal data, changes between two values. */
function withDescription(body: string, index: number): string {
  const event = JSON.parse(body);
  event.data.object.description = `for person ${Math.floor(index / 2) % 2}`;
  const previous = event.data.previous_attributes;
  if (previous && index > 0 && index % 2 === 0) {
    previous.description = `for person ${Math.floor((index - 1) / 2) % 2}`;
  }
  return JSON.stringify(event);
}

/** The customer's state after these bodies, in this order, each with its original key. */
function fold(events: readonly { readonly key: string; readonly body: string }[]) {
  const parsed = events.map(({ key, body }) => {
    const event = parseBody(body, 0);
    if (event === null) throw new RangeError('an event is unreadable');
    return { ...event, key, eventId: null, type: 'customer.subscription.updated' };
  });
  return foldAll(parsed);
}

test('redacted events decide like the originals, in any order of arrival', () => {
  let count = 0;
  for (let seed = 1; seed <= 150; seed += 1) {
    const random = createRandom(seed);
    for (const { lifecycle, format } of createWorld(seed)) {
      const { events } = renderHistory(lifecycle, format);
      const counts = new Map<string, number>();
      const original = events
        .map(({ subscriptionId, body }) => {
          const index = counts.get(subscriptionId) ?? 0;
          counts.set(subscriptionId, index + 1);
          return withDescription(body, index);
        })
        .map((body, index) => ({ key: `key ${index}`, body, place: random.next() }))
        .sort((one, other) => one.place - other.place);
      const replaced = original.map(({ key, body }) => ({
        key,
        body: new TextDecoder().decode(redactBody(Buffer.from(body), pseudonymOf)),
      }));
      expect(replaced.some(({ body }) => body.includes('person'))).toBe(false);
      expect(fold(replaced)).toEqual(fold(original));
      count += original.length;
    }
  }
  expect(count).toBeGreaterThan(2_000);
});
