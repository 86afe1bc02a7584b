import type { ParsedEvent } from 'instep/src/core/subscription-event.ts';
import { describe, expect, test } from 'vitest';
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

test('a snapshot without an effect decides the same in every order of arrival, and takes no plan', () => {
  const word = snapshot({ status: 'past_due' });
  for (const arrived of permutations([active, canceled, word])) {
    expect(lastOf(arrived)).toEqual({ subscription: active.subscription, order: 'known' });
  }
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
    expect(lastOf(arrived)).toEqual({ subscription: paid.subscription, order: 'known' });
  }
});

test('a snapshot without an effect shows the end of the path in all but the status', () => {
  const plus = event({ status: 'active', product: 'plus' }, { product: 'base' });
  const base = event({ status: 'active', product: 'base' }, { product: 'plus' });
  const word = snapshot({ status: 'past_due', product: 'base' });
  for (const arrived of permutations([plus, base, word])) {
    expect(lastOf(arrived)).toEqual({ subscription: base.subscription, order: 'known' });
  }
});

describe('a snapshot of a cycle', () => {
  const cycle = [
    event({ status: 'unpaid' }, { status: 'active' }),
    event({ status: 'active' }, { status: 'unpaid' }),
  ];
  const shown = (observed: readonly ParsedEvent[]) => ({
    ...snapshot({ status: 'active' }),
    seenKeys: new Set(observed.map(({ key }) => key)),
  });
  const ended = event({ status: 'canceled' });

  test('decides the order of the events that were known when it was requested', () => {
    const complete = shown(cycle);
    for (const arrived of permutations([...cycle, complete])) {
      expect(lastOf(arrived)).toEqual({ subscription: complete.subscription, order: 'known' });
    }
  });

  test('leaves the order ambiguous when an event of its second arrives later', () => {
    const arrived = [...cycle, shown(cycle), ended];
    expect(lastOf(arrived)).toEqual({ subscription: ended.subscription, order: 'ambiguous' });
  });

  test('decides again when a later snapshot includes all events', () => {
    const later = shown([...cycle, ended]);
    expect(lastOf([...cycle, shown(cycle), ended, later])?.subscription).toBe(later.subscription);
  });
});
