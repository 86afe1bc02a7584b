import fc from 'fast-check';
import { foldAll, type JsonObject, type SubscriptionEvent } from 'instep-engine/rule';
import { describe, expect, test } from 'vitest';
import { eventOf } from '../support/events.ts';
import { permutations } from '../support/permutations.ts';
import {
  ambiguous,
  changes,
  decidingAfter,
  deletion,
  event,
  known,
} from '../support/tie-groups.ts';

describe('cause decides, in any order of arrival', () => {
  test.each<[string, JsonObject[]]>([
    ['two', [{ status: 'trialing' }, { status: 'active' }]],
    ['three', [{ status: 'trialing' }, { status: 'active' }, { status: 'canceled' }]],
    [
      'three, the middle one without effect',
      [{ status: 'active' }, { status: 'past_due' }, { status: 'canceled' }],
    ],
    [
      'four, two of them without effect at the end',
      [
        { status: 'trialing', invoice: 1 },
        { status: 'active', invoice: 2 },
        { status: 'past_due', invoice: 3 },
        { status: 'past_due', invoice: 4 },
      ],
    ],
    [
      'a change and its reversal, distinguished by another member',
      [
        { status: 'active', invoice: 1 },
        { status: 'past_due', invoice: 2 },
        { status: 'active', invoice: 3 },
      ],
    ],
  ])('%s', (_, states) => {
    const events = changes(states);
    const last = events.findLast(({ subscription }) => subscription.status !== 'past_due');
    for (const arrived of permutations(events)) {
      expect(decidingAfter(arrived)).toEqual(known(last));
    }
  });

  test('any changes whose values increase', () => {
    const statuses = fc.constantFrom('active', 'trialing', 'canceled', 'unpaid', 'past_due');
    fc.assert(
      fc.property(fc.array(statuses, { minLength: 1, maxLength: 6 }), fc.nat(), (lived, seed) => {
        const events = changes(lived.map((status, invoice) => ({ status, invoice })));
        const arrived = [...events].sort((a, b) => hash(a, seed) - hash(b, seed));
        const last = events.findLast(({ subscription }) => subscription.status !== 'past_due');
        expect(decidingAfter(arrived)).toEqual(last === undefined ? null : known(last));
      }),
    );
  });
});

test('a cycle through a status without an effect has a known plan, and its order is ambiguous', () => {
  const [, ...cycle] = changes([
    { status: 'active' },
    { status: 'past_due' },
    { status: 'active' },
  ]);
  for (const arrived of permutations(cycle)) {
    expect(decidingAfter(arrived)).toMatchObject({
      reported: { status: 'active' },
      isAmbiguous: true,
    });
  }
});

test('nested values, lists and missing values are evidence', () => {
  const items = (price: string): JsonObject => ({ data: [{ id: 'si_1', price: { id: price } }] });
  const first = event({ status: 'active', product: 'a', items: items('p1') }, { pause: { a: 1 } });
  const second = event(
    { status: 'active', product: 'b', items: items('p2'), cancel_at: 7 },
    { items: { data: [{ price: { id: 'p1' } }] }, cancel_at: null },
  );
  for (const arrived of permutations([first, second])) {
    expect(decidingAfter(arrived)).toEqual(known(second));
  }
});

test('without evidence the later arrival wins, and the order is ambiguous', () => {
  const one = event({ status: 'active' });
  const other = event({ status: 'canceled' });
  expect(decidingAfter([one, other])).toEqual(ambiguous(other));
  expect(decidingAfter([other, one])).toEqual(ambiguous(one));
});

test('a cycle leaves two ends possible', () => {
  const pause = event({ status: 'unpaid' }, { status: 'active' });
  const resume = event({ status: 'active' }, { status: 'unpaid' });
  expect(decidingAfter([pause, resume])).toEqual(ambiguous(resume));
});

test('a cycle before an end without an effect leaves two plans possible', () => {
  const pause = event({ status: 'unpaid', note: 1 }, { status: 'active' });
  const resume = event({ status: 'active', note: 1 }, { status: 'unpaid' });
  const end = deletion({ status: 'incomplete_expired', note: 1 });
  const remark = event({ status: 'incomplete_expired', note: 2 }, { note: 1 });
  for (const arrived of permutations([pause, resume, end, remark])) {
    expect(decidingAfter(arrived)?.isAmbiguous).toBe(true);
  }
});

test('two equal changes and one reversal end with the repeated change', () => {
  const begun = event({ status: 'unpaid' }, { status: 'incomplete' });
  const resume = event({ status: 'active' }, { status: 'unpaid' });
  const pause = event({ status: 'unpaid', product: 'a' }, { status: 'active' });
  for (const arrived of permutations([begun, resume, pause])) {
    expect(decidingAfter(arrived)).toEqual(known(pause));
  }
});

describe('without evidence the order is ambiguous unless every end is the same for the team', () => {
  test.each<[string, JsonObject, JsonObject, boolean]>([
    [
      'the same plan',
      { status: 'active', product: 'a' },
      { status: 'active', product: 'a' },
      false,
    ],
    ['products', { status: 'active', product: 'a' }, { status: 'active', product: 'b' }, true],
    ['names', { status: 'trialing', name: 'A' }, { status: 'trialing', name: 'B' }, true],
    ['statuses', { status: 'canceled' }, { status: 'unpaid' }, true],
    ['ends', { status: 'canceled', product: 'a' }, { status: 'canceled', product: 'b' }, false],
  ])('%s', (_, one, other, isAmbiguous) => {
    for (const arrived of permutations([event(one), event(other)])) {
      expect(decidingAfter(arrived)).toEqual(
        isAmbiguous ? ambiguous(arrived[1]) : known(arrived[1]),
      );
    }
  });
});

test('ends that are the same for the team are not ambiguous', () => {
  const on = event({ status: 'active', flag: true }, { flag: false });
  const off = event({ status: 'active', flag: false }, { flag: true });
  expect(decidingAfter([on, off])?.isAmbiguous).toBe(false);
});

test('a path with a gap is not evidence', () => {
  const [first, , third] = changes([
    { status: 'trialing' },
    { status: 'active' },
    { status: 'unpaid' },
  ]);
  const arrived = [third, first].filter((found) => found !== undefined);
  expect(decidingAfter(arrived)).toEqual(ambiguous(first));
});

test('events without an effect have no end', () => {
  expect(decidingAfter([event({ status: 'past_due' })])).toBeNull();
  expect(decidingAfter([event({ status: 'paused' }), event({ status: 'past_due' })])).toBeNull();
});

test('a deletion without replaced values comes last', () => {
  const pause = event({ status: 'active', pause: true }, { pause: false });
  const resume = event({ status: 'active', pause: false }, { pause: true });
  const end = deletion({ status: 'canceled', pause: false });
  for (const arrived of permutations([pause, resume, end])) {
    expect(decidingAfter(arrived)).toEqual(known(end));
  }
});

test('an event does not change members that it does not name as replaced', () => {
  const lived = changes([
    { status: 'past_due', product: 'a' },
    { status: 'active', product: 'a' },
    { status: 'active', product: 'b' },
    { status: 'past_due', product: 'b' },
  ]);
  for (const arrived of permutations(lived)) {
    expect(decidingAfter(arrived)).toEqual(known(lived[2]));
  }
});

test('a deletion without replaced values is not assumed to be the first event', () => {
  const pause = event({ status: 'active', pause: true, product: 'a' }, { pause: false });
  const unknown = deletion({ status: 'active', pause: false, product: 'b' });
  expect(decidingAfter([pause, unknown])?.isAmbiguous).toBe(true);
});

test('another event without replaced values can only be the first', () => {
  const first = event({ status: 'trialing' });
  const second = event({ status: 'active' }, { status: 'trialing' });
  for (const arrived of permutations([first, second])) {
    expect(decidingAfter(arrived)).toEqual(known(second));
  }
});

test('with too many events, the last status of one plan is not known', () => {
  const states = Array.from({ length: 31 }, (_, invoice) => ({
    status: invoice % 2 === 0 ? 'active' : 'past_due',
    invoice,
  }));
  expect(decidingAfter(changes(states.slice(0, 30)).reverse())?.isAmbiguous).toBe(false);
  expect(decidingAfter(changes(states).reverse())?.isAmbiguous).toBe(true);
});

test('with too many paths, the later arrival wins', () => {
  // They name no replaced values, so each of them can follow any other.
  const anywhere = Array.from({ length: 14 }, (_, index) =>
    event({ status: 'active', product: `prod_${index}` }, {}),
  );
  const end = event({ status: 'canceled' }, { status: 'active' });
  const few = [end, ...anywhere.slice(0, 8)];
  expect(decidingAfter(few)).toEqual(known(end));
  expect(decidingAfter([end, ...anywhere])).toEqual(ambiguous(anywhere.at(-1)));
  // All of them lead to one plan.
  const onePlan = anywhere.map(() => event({ status: 'active' }, {}));
  const due = event({ status: 'past_due' }, { status: 'active' });
  expect(decidingAfter([due, ...onePlan.slice(0, 8)])?.isAmbiguous).toBe(false);
  expect(decidingAfter([due, ...onePlan])?.isAmbiguous).toBe(true);
});

function hash({ object }: SubscriptionEvent, seed: number): number {
  return (Number(object.invoice) * 7919 + seed * 104_729) % 1_009;
}

test('140 contradictory events in five seconds are put in order within a bounded number of steps', () => {
  const STATUSES = ['active', 'unpaid', 'trialing'];
  let reads = 0;
  const events = Array.from({ length: 140 }, (_, index): SubscriptionEvent => {
    const createdSeconds = 1_000 + Math.floor(index / 28);
    return {
      ...eventOf({ status: `${STATUSES[index % 3]}`, createdSeconds }),
      get previousAttributes() {
        reads += 1;
        return { status: `${STATUSES[(index + 1) % 3]}` };
      },
    };
  });
  const deciding = foldAll(events).subscriptions.get('sub_1')?.deciding;
  expect(deciding).toMatchObject({
    isAmbiguous: true,
    reported: { status: events.at(-1)?.subscription.status },
  });
  expect(reads / events.length).toBeLessThan(1_000);
});
