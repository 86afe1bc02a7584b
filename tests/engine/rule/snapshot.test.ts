import { foldAll, isOutdated, KnownEvents, type SubscriptionEvent } from 'instep-engine/rule';
import { describe, expect, test } from 'vitest';
import { eventOf } from '../support/events.ts';
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
  const other = snapshot({ status: 'past_due', product: 'plus' });
  for (const arrived of permutations([plus, base, other])) {
    expect(decidingAfter(arrived)).toEqual(known(plus));
  }
});

test('a snapshot without an effect shows the event that left the same in every changed member', () => {
  const due = event({ status: 'past_due', product: 'plus' }, { status: 'unpaid' });
  const base = event(
    { status: 'active', product: 'base' },
    { status: 'past_due', product: 'plus' },
  );
  const plus = event({ status: 'active', product: 'plus' }, { product: 'base' });
  const unpaid = event({ status: 'unpaid', product: 'plus' }, { status: 'active' });
  const word = snapshot({ status: 'past_due', product: 'plus' });
  for (const arrived of permutations([due, base, plus, unpaid, word])) {
    expect(decidingAfter(arrived)).toEqual(known(unpaid));
  }
});

test.each([
  ['one that grants a plan', ['canceled', 'trialing'], 'trialing'],
  ['a paid one', ['active', 'canceled'], 'active'],
  ['the best one', ['trialing', 'active'], 'active'],
  ['the same one', ['unpaid', 'canceled'], 'canceled'],
])('where not even a snapshot shows the order, %s decides', (_, statuses, decides) => {
  const events = statuses.map((status) => event({ status }));
  for (const arrived of permutations([...events, snapshot({ status: 'past_due' })])) {
    expect(decidingAfter(arrived)).toEqual(
      known(events.find(({ subscription }) => subscription.status === decides)),
    );
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

describe('a snapshot that was asked for is outdated', () => {
  const asked = (createdSeconds: number, ...seen: readonly SubscriptionEvent[]) => ({
    ...eventOf({ createdSeconds }),
    isSnapshot: true,
    seenKeys: new Set(seen.map(({ key }) => key)),
  });
  const due = event({ status: 'past_due' });
  test.each<[string, boolean, readonly SubscriptionEvent[], SubscriptionEvent]>([
    ['not if it has seen all events', false, [active, canceled], asked(10, active, canceled)],
    ['if it has not seen one', true, [active, canceled], asked(10, active)],
    ['if its order is known', true, [active], asked(10, active)],
    ['if the order of another second is unknown', true, [active, canceled], asked(9)],
    ['if no event has an effect', true, [due], asked(10, due)],
    ['if its subscription is unknown', true, [], asked(10)],
    ['not if it was listed', false, [active], snapshot({ status: 'active' })],
    ['not if it is an event', false, [active], canceled],
  ])('%s', (_, expected, events, one) => {
    expect(isOutdated(foldAll(events), one, new KnownEvents(events))).toBe(expected);
  });
});
