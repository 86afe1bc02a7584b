import { expect, test } from 'vitest';

import { event, lastOf, permutations, snapshot } from './subscription-changes.ts';

const active = event({ status: 'active' });
const canceled = event({ status: 'canceled' });

test('a complete snapshot decides, even when an event of the second arrives later', () => {
  const word = snapshot({ status: 'active', product: 'a' });
  for (const arrived of permutations([active, canceled, word])) {
    expect(lastOf(arrived)).toEqual({ subscription: word.subscription, order: 'known' });
  }
});

test('a snapshot takes precedence over a path of the events', () => {
  const unpaid = event({ status: 'unpaid' }, { status: 'active' });
  const word = snapshot({ status: 'active' });
  expect(lastOf([word, active, unpaid])).toEqual({
    subscription: word.subscription,
    order: 'known',
  });
});

test('a snapshot without an effect leaves the later arrival when no path has evidence', () => {
  const word = snapshot({ status: 'past_due' });
  expect(lastOf([active, canceled, word])).toEqual({
    subscription: canceled.subscription,
    order: 'inferred',
  });
  expect(lastOf([word, canceled, active])).toEqual({
    subscription: active.subscription,
    order: 'inferred',
  });
});

test('a snapshot without an effect shows where the path ends', () => {
  const unpaid = event({ status: 'unpaid' }, { status: 'past_due' });
  const paid = event({ status: 'active' }, { status: 'unpaid' });
  const pastDue = event({ status: 'past_due' }, { status: 'active' });
  const word = snapshot({ status: 'past_due' });
  for (const arrived of permutations([unpaid, paid, pastDue])) {
    expect(lastOf(arrived)?.order).toBe('ambiguous');
  }
  for (const arrived of permutations([unpaid, paid, pastDue, word])) {
    expect(lastOf(arrived)).toEqual({ subscription: paid.subscription, order: 'inferred' });
  }
});

test('a snapshot without an effect shows the end of the path in all but the status', () => {
  const plus = event({ status: 'active', product: 'plus' }, { product: 'base' });
  const base = event({ status: 'active', product: 'base' }, { product: 'plus' });
  const word = snapshot({ status: 'past_due', product: 'base' });
  for (const arrived of permutations([plus, base, word])) {
    expect(lastOf(arrived)).toEqual({ subscription: base.subscription, order: 'inferred' });
  }
});

test('a snapshot shows an end only if all changed values agree', () => {
  const plus = event({ status: 'active', product: 'plus', seats: 1 }, { product: 'base' });
  const base = event(
    { status: 'active', product: 'base', seats: 1 },
    { product: 'plus', seats: 1 },
  );
  const word = snapshot({ status: 'past_due', product: 'base', seats: 2 });
  for (const arrived of permutations([plus, base])) {
    expect(lastOf([...arrived, word])).toEqual({
      subscription: arrived[1]?.subscription,
      order: 'inferred',
    });
  }
});

test.each([12, 31])(
  'with %i events in any possible order, a snapshot leaves the later arrival',
  (count) => {
    const events = Array.from({ length: count }, (_, index) =>
      event({ status: 'active', product: `prod_${index}` }, {}),
    );
    expect(lastOf([snapshot({ status: 'past_due' }), ...events])).toEqual({
      subscription: events.at(-1)?.subscription,
      order: 'inferred',
    });
  },
);
