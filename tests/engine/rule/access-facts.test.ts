import fc from 'fast-check';
import { END_MARGIN_SECONDS, effectOf, foldAll, rankOf } from 'instep-engine/rule';
import { accessFacts, chargedTwice, dueSinceSeconds } from 'instep-engine/src/rule/access-facts.ts';
import { describe, expect, test } from 'vitest';
import { eventOf } from '../support/events.ts';

type Report = NonNullable<Parameters<typeof eventOf>[0]>;

const stateOf = (...reports: readonly Report[]) => foldAll(reports.map(eventOf));

const ends = (report: Report) => accessFacts(stateOf(report), 'best')?.endsAtSeconds;

describe('access ends', () => {
  const trial = { trial_end: 70, trial_settings: { end_behavior: {} } };
  const endOfTrial = (action: string) => ({
    ...trial,
    trial_settings: { end_behavior: { missing_payment_method: action } },
  });
  test.each<[string, Report, number | null]>([
    ['never, if nothing says so', {}, null],
    ['at the planned end', { object: { cancel_at: 50 } }, 50],
    [
      'with a period that does not renew',
      { object: { cancel_at_period_end: true, current_period_end: 60 } },
      60,
    ],
    [
      'never, if the end of the period is unknown',
      { object: { cancel_at_period_end: true } },
      null,
    ],
    [
      'never with a period that renews',
      { object: { cancel_at_period_end: false, current_period_end: 60 } },
      null,
    ],
    [
      'at the first of two ends',
      { object: { cancel_at: 50, cancel_at_period_end: true, current_period_end: 40 } },
      40,
    ],
    ['with a trial', { status: 'trialing', object: endOfTrial('cancel') }, 70],
    ['with a trial that pauses', { status: 'trialing', object: endOfTrial('pause') }, 70],
    ['never with a trial that is invoiced', { status: 'trialing', object: trial }, null],
    ['never with a trial that is over', { status: 'active', object: endOfTrial('cancel') }, null],
    [
      'never with a trial that a payment method continues',
      { status: 'trialing', object: { ...endOfTrial('cancel'), default_payment_method: 'pm_1' } },
      null,
    ],
    ['not again, if it has ended', { status: 'canceled', object: { cancel_at: 50 } }, null],
    [
      'as planned, if the end can be late',
      { createdSeconds: 50 + END_MARGIN_SECONDS, object: { cancel_at: 50 } },
      50,
    ],
    [
      'never, if a later event says that it has not',
      { createdSeconds: 51 + END_MARGIN_SECONDS, object: { cancel_at: 50 } },
      null,
    ],
  ])('%s', (_, report, expected) => {
    expect(ends(report)).toBe(expected);
  });
});

test('a customer without a subscription has no access facts', () => {
  expect(accessFacts(stateOf(), 'best')).toBeNull();
});

describe('best', () => {
  const selected = (...reports: readonly Report[]) =>
    accessFacts(stateOf(...reports), 'best')?.latest.plan.providerSubscriptionId;
  const due = { subscriptionId: 'sub_due', status: 'past_due', createdSeconds: 11 };
  const oneAfter = (status: string, next: string) => [
    { status, createdSeconds: 10 },
    { status: next, createdSeconds: 12 },
  ];

  test('a status that is new at Stripe keeps what the last known one gave', () => {
    const facts = accessFacts(stateOf(...oneAfter('active', 'of_tomorrow')), 'best');
    expect(facts).toMatchObject({ grantsPlan: true, sinceSeconds: 12 });
    const ended = accessFacts(stateOf(...oneAfter('canceled', 'of_tomorrow')), 'best');
    expect(ended).toMatchObject({ grantsPlan: false });
    expect(selected(...oneAfter('active', 'of_tomorrow'), due)).toBe('sub_1');
    expect(selected(...oneAfter('canceled', 'of_tomorrow'), due)).toBe('sub_due');
    expect(selected({ status: 'of_tomorrow', createdSeconds: 12 }, due)).toBe('sub_due');
  });

  test('a status without access ends it, whatever came before', () => {
    expect(selected(...oneAfter('active', 'incomplete'), due)).toBe('sub_due');
  });

  test('of two payments that are due, the one that has been due for the shortest time counts', () => {
    expect(selected(...oneAfter('past_due', 'past_due'), due)).toBe('sub_due');
    expect(selected(due, ...oneAfter('past_due', 'past_due'))).toBe('sub_due');
  });
});

describe.each(['best', 'newest'] as const)('%s', (planSelection) => {
  const EXTENT: Record<string, number> = { active: 2, trialing: 2, past_due: 1 };

  /** In words: by access, then how long a payment has been due, then as a plan is selected. */
  function criteria({ subscriptionId, status = '', createdSeconds = 0 }: Report): unknown[] {
    const access = planSelection === 'best' ? [EXTENT[status] ?? 0] : [];
    const due = planSelection === 'best' && status === 'past_due' ? [createdSeconds] : [0];
    const decides = effectOf(status) !== 'none';
    const rank = rankOf(status);
    const deciding = planSelection === 'best' ? [rank, createdSeconds] : [createdSeconds, rank];
    return [
      ...access,
      ...due,
      Number(decides),
      ...(decides ? deciding : [createdSeconds]),
      subscriptionId,
    ];
  }

  test('the subscription with the most access counts, in whatever order', () => {
    const report = fc.record({
      subscriptionId: fc.constantFrom('sub_1', 'sub_2', 'sub_3', 'sub_4'),
      status: fc.constantFrom('active', 'trialing', 'past_due', 'paused', 'unpaid', 'canceled'),
      createdSeconds: fc.integer({ min: 10, max: 12 }),
    });
    const reports = fc.uniqueArray(report, {
      selector: ({ subscriptionId }) => subscriptionId,
      minLength: 1,
    });
    fc.assert(
      fc.property(reports, (some) => {
        const [best] = some.toSorted((a, b) => compareLists(criteria(b), criteria(a)));
        const facts = accessFacts(stateOf(...some), planSelection);
        expect(facts?.latest.plan.providerSubscriptionId).toBe(best?.subscriptionId);
      }),
    );
  });
});

function compareLists(a: readonly unknown[], b: readonly unknown[]): number {
  const index = a.findIndex((one, at) => one !== b[at]);
  return index === -1 ? 0 : (a[index] as number) < (b[index] as number) ? -1 : 1;
}

test('the event of an end can arrive a day later', () => {
  expect(END_MARGIN_SECONDS).toBe(86_400);
});

test('a customer is charged twice by two subscriptions that Stripe charges, also one that is due', () => {
  const two = { subscriptionId: 'sub_2' };
  expect(chargedTwice(stateOf({}))).toBeNull();
  expect(chargedTwice(stateOf({ ...two, status: 'past_due' }, {}))).toEqual(['sub_1', 'sub_2']);
  expect(chargedTwice(stateOf({}, { ...two, status: 'trialing' }))).toEqual(['sub_1', 'sub_2']);
  for (const status of ['canceled', 'unpaid', 'paused', 'incomplete', 'of_tomorrow']) {
    expect(chargedTwice(stateOf({}, { ...two, status }))).toBeNull();
  }
  expect(chargedTwice(stateOf({}, { subscriptionId: null }))).toBeNull();
});

test('a payment is due since the first of the subscriptions that are past due or unpaid', () => {
  expect(dueSinceSeconds(stateOf({}))).toBeNull();
  const due = { status: 'past_due', createdSeconds: 12 };
  expect(dueSinceSeconds(stateOf(due, { subscriptionId: 'sub_2' }))).toBe(12);
  const unpaid = { subscriptionId: 'sub_2', status: 'unpaid', createdSeconds: 11 };
  expect(dueSinceSeconds(stateOf(due, unpaid))).toBe(11);
});
