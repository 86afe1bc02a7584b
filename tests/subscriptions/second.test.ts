import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CausedEvent, endOfSecond, type JsonObject } from '../../src/subscriptions/second.ts';

/** An event of one second: the subscription after it, and what it replaced. */
function event(after: JsonObject, replaced: JsonObject | null = null): CausedEvent {
  const status = String(after.status);
  return {
    subscription: {
      customerId: 'cus_1',
      subscriptionId: 'sub_1',
      status,
      productId: typeof after.product === 'string' ? after.product : null,
      planName: null,
      createdSeconds: 10,
    },
    after,
    replaced,
    isDeletion: false,
    isLook: false,
  };
}

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, index) =>
    permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]),
  );
}

/** A life within one second: every event changes some of the members, and says what it replaced. */
function life(states: readonly JsonObject[]): CausedEvent[] {
  return states.map((after, index) => {
    const before = states[index - 1];
    if (before === undefined) return event(after, { status: 'incomplete' });
    const changed = Object.keys(after).filter((name) => after[name] !== before[name]);
    return event(after, Object.fromEntries(changed.map((name) => [name, before[name] ?? null])));
  });
}

describe('cause decides, in whatever order the events arrive', () => {
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
      'there and back again, told apart by another member',
      [
        { status: 'active', invoice: 1 },
        { status: 'past_due', invoice: 2 },
        { status: 'active', invoice: 3 },
      ],
    ],
  ])('%s', (_, states) => {
    const events = life(states);
    const last = events.findLast(({ subscription }) => subscription.status !== 'past_due');
    for (const arrived of permutations(events)) {
      expect(endOfSecond(arrived)).toEqual({ newest: last?.subscription, isCertain: true });
    }
  });

  test('any life whose members count up', () => {
    const statuses = fc.constantFrom('active', 'trialing', 'canceled', 'unpaid', 'past_due');
    fc.assert(
      fc.property(fc.array(statuses, { minLength: 1, maxLength: 6 }), fc.nat(), (lived, seed) => {
        const events = life(lived.map((status, invoice) => ({ status, invoice })));
        const arrived = [...events].sort((a, b) => hash(a, seed) - hash(b, seed));
        const last = events.findLast(({ subscription }) => subscription.status !== 'past_due');
        expect(endOfSecond(arrived)).toEqual({
          newest: last?.subscription ?? null,
          isCertain: true,
        });
      }),
    );
  });
});

test('nested values and lists are evidence, and so is what was not there before', () => {
  const items = (price: string): JsonObject => ({ data: [{ id: 'si_1', price: { id: price } }] });
  const first = event({ status: 'active', product: 'a', items: items('p1') }, { pause: { a: 1 } });
  const second = event(
    { status: 'active', product: 'b', items: items('p2'), cancel_at: 7 },
    { items: { data: [{ price: { id: 'p1' } }] }, cancel_at: null },
  );
  for (const arrived of permutations([first, second])) {
    expect(endOfSecond(arrived)).toEqual({ newest: second.subscription, isCertain: true });
  }
});

test('without evidence the later arrival wins, and that is uncertain', () => {
  const one = event({ status: 'active' });
  const other = event({ status: 'canceled' });
  expect(endOfSecond([one, other])).toEqual({ newest: other.subscription, isCertain: false });
  expect(endOfSecond([other, one])).toEqual({ newest: one.subscription, isCertain: false });
});

test('a circle leaves two ends possible', () => {
  const pause = event({ status: 'unpaid' }, { status: 'active' });
  const resume = event({ status: 'active' }, { status: 'unpaid' });
  expect(endOfSecond([pause, resume])).toEqual({ newest: resume.subscription, isCertain: false });
});

test('ends that are the same to the team are certain', () => {
  const on = event({ status: 'active', flag: true }, { flag: false });
  const off = event({ status: 'active', flag: false }, { flag: true });
  expect(endOfSecond([on, off]).isCertain).toBe(true);
});

test('a hole in the path is no evidence', () => {
  const [first, , third] = life([
    { status: 'trialing' },
    { status: 'active' },
    { status: 'unpaid' },
  ]);
  const arrived = [third, first].filter((found) => found !== undefined);
  expect(endOfSecond(arrived)).toEqual({ newest: first?.subscription, isCertain: false });
});

test('events without effect alone end nothing', () => {
  expect(endOfSecond([event({ status: 'past_due' })])).toEqual({ newest: null, isCertain: true });
});

test('a deletion names nothing that it replaced, and comes last all the same', () => {
  const pause = event({ status: 'active', pause: true }, { pause: false });
  const resume = event({ status: 'active', pause: false }, { pause: true });
  const deletion = { ...event({ status: 'canceled', pause: false }), isDeletion: true };
  for (const arrived of permutations([pause, resume, deletion])) {
    expect(endOfSecond(arrived)).toEqual({ newest: deletion.subscription, isCertain: true });
  }
});

test('what an event does not name it left alone', () => {
  const lived = life([
    { status: 'past_due', product: 'a' },
    { status: 'active', product: 'a' },
    { status: 'active', product: 'b' },
    { status: 'past_due', product: 'b' },
  ]);
  for (const arrived of permutations(lived)) {
    expect(endOfSecond(arrived)).toEqual({ newest: lived[2]?.subscription, isCertain: true });
  }
});

test('a deletion that names nothing is no evidence of having been first', () => {
  const pause = event({ status: 'active', pause: true, product: 'a' }, { pause: false });
  const unknown = { ...event({ status: 'active', pause: false, product: 'b' }), isDeletion: true };
  expect(endOfSecond([pause, unknown]).isCertain).toBe(false);
});

test('another event that names nothing that it replaced can only have been the first', () => {
  const first = event({ status: 'trialing' });
  const second = event({ status: 'active' }, { status: 'trialing' });
  for (const arrived of permutations([first, second])) {
    expect(endOfSecond(arrived)).toEqual({ newest: second.subscription, isCertain: true });
  }
});

test('a look without effect leaves the path to the evidence, and tells where it ends', () => {
  const unpaid = event({ status: 'unpaid' }, { status: 'past_due' });
  const active = event({ status: 'active' }, { status: 'unpaid' });
  const pastDue = event({ status: 'past_due' }, { status: 'active' });
  const look = { ...event({ status: 'past_due' }), isLook: true };
  for (const arrived of permutations([unpaid, active, pastDue])) {
    expect(endOfSecond(arrived).isCertain).toBe(false);
  }
  for (const arrived of permutations([unpaid, active, pastDue, look])) {
    expect(endOfSecond(arrived)).toEqual({ newest: active.subscription, isCertain: true });
  }
});

test('a look without effect tells where the path ends by what is left but the status', () => {
  const plus = event({ status: 'active', product: 'plus' }, { product: 'base' });
  const base = event({ status: 'active', product: 'base' }, { product: 'plus' });
  const look = { ...event({ status: 'past_due', product: 'base' }), isLook: true };
  for (const arrived of permutations([plus, base, look])) {
    expect(endOfSecond(arrived)).toEqual({ newest: base.subscription, isCertain: true });
  }
});

test("Stripe's own word ends the question; if it has no effect the later arrival stays", () => {
  const one = event({ status: 'active' });
  const other = event({ status: 'canceled' });
  const look = { ...event({ status: 'active' }), isLook: true };
  expect(endOfSecond([one, other, look])).toEqual({ newest: look.subscription, isCertain: true });
  const pastDue = { ...event({ status: 'past_due' }), isLook: true };
  expect(endOfSecond([one, other, pastDue])).toEqual({
    newest: other.subscription,
    isCertain: true,
  });
});

test('more events than can be put in order are left to the later arrival', () => {
  const states = Array.from({ length: 31 }, (_, invoice) => ({
    status: invoice % 2 === 0 ? 'active' : 'unpaid',
    invoice,
  }));
  const ordered = life(states.slice(0, 30)).reverse();
  expect(endOfSecond(ordered)).toMatchObject({ newest: { status: 'unpaid' }, isCertain: true });
  const tooMany = life(states).reverse();
  expect(endOfSecond(tooMany).isCertain).toBe(false);
});

test('events that tell nothing of their cause cost no time', () => {
  const events = Array.from({ length: 30 }, (_, invoice) =>
    event({ status: invoice % 2 === 0 ? 'active' : 'unpaid', invoice }),
  );
  const startedAtMs = performance.now();
  expect(endOfSecond(events)).toEqual({ newest: events.at(-1)?.subscription, isCertain: false });
  expect(performance.now() - startedAtMs).toBeLessThan(1_000);
});

function hash({ after }: CausedEvent, seed: number): number {
  return (Number(after.invoice) * 7919 + seed * 104_729) % 1_009;
}
