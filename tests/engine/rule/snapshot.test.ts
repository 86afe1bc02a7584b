import type { SubscriptionEvent } from 'instep-engine/rule';
import { describe, expect, test } from 'vitest';
import { permutations } from '../support/permutations.ts';
import { ambiguous, decidingAfter, event, known, snapshot } from '../support/tie-groups.ts';

const active = event({ status: 'active' });
const canceled = event({ status: 'canceled' });

test('a complete snapshot decides, even when an event of the second arrives later', () => {
  const word = snapshot({ status: 'active', product: 'a' });
  for (const arrived of permutations([active, canceled, word])) {
    expect(decidingAfter(arrived)).toEqual(known(word));
  }
});

test('a snapshot takes precedence over a path of the events', () => {
  const unpaid = event({ status: 'unpaid' }, { status: 'active' });
  const word = snapshot({ status: 'active' });
  expect(decidingAfter([word, active, unpaid])).toEqual(known(word));
});

test('a snapshot without an effect decides the same in every order of arrival, and takes no plan', () => {
  const word = snapshot({ status: 'past_due' });
  for (const arrived of permutations([active, canceled, word])) {
    expect(decidingAfter(arrived)).toEqual(known(active));
  }
});

test('a snapshot without an effect shows where the path ends', () => {
  const unpaid = event({ status: 'unpaid' }, { status: 'past_due' });
  const paid = event({ status: 'active' }, { status: 'unpaid' });
  const pastDue = event({ status: 'past_due' }, { status: 'active' });
  const word = snapshot({ status: 'past_due' });
  for (const arrived of permutations([unpaid, paid, pastDue])) {
    expect(decidingAfter(arrived)?.isAmbiguous).toBe(true);
  }
  for (const arrived of permutations([unpaid, paid, pastDue, word])) {
    expect(decidingAfter(arrived)).toEqual(known(paid));
  }
});

test('a snapshot without an effect shows the end of the path in all but the status', () => {
  const plus = event({ status: 'active', product: 'plus' }, { product: 'base' });
  const base = event({ status: 'active', product: 'base' }, { product: 'plus' });
  const word = snapshot({ status: 'past_due', product: 'base' });
  for (const arrived of permutations([plus, base, word])) {
    expect(decidingAfter(arrived)).toEqual(known(base));
  }
});

describe('a snapshot of a cycle', () => {
  const cycle = [
    event({ status: 'unpaid' }, { status: 'active' }),
    event({ status: 'active' }, { status: 'unpaid' }),
  ];
  const shown = (observed: readonly SubscriptionEvent[]) => ({
    ...snapshot({ status: 'active' }),
    seenKeys: new Set(observed.map(({ key }) => key)),
  });
  const ended = event({ status: 'canceled' });

  test('decides the order of the events that were known when it was requested', () => {
    const complete = shown(cycle);
    for (const arrived of permutations([...cycle, complete])) {
      expect(decidingAfter(arrived)).toEqual(known(complete));
    }
  });

  test('leaves the order ambiguous when an event of its second arrives later', () => {
    const arrived = [...cycle, shown(cycle), ended];
    expect(decidingAfter(arrived)).toEqual(ambiguous(ended));
  });

  test('decides again when a later snapshot includes all events', () => {
    const later = shown([...cycle, ended]);
    expect(decidingAfter([...cycle, shown(cycle), ended, later])).toEqual(known(later));
  });
});
