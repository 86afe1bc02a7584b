import { describe, expect, test } from 'vitest';
import type { LoggedOutcome } from '../../src/core/logged-event.ts';
import { type Context, type Explanation, explain } from '../../src/event-log/explain.ts';
import type { EventRow } from '../../src/queries/search-events.ts';
import { SNAPSHOT_TYPE } from '../../src/stripe/handled-event-type.ts';
import type { MadeEvent } from '../../src/testing/subscription-event.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const CREATED = 1_700_000_000;
const DAY = 86_400;

type Logged = readonly [
  outcome: LoggedOutcome,
  second: number,
  status: string,
  made?: Partial<MadeEvent>,
];

/** A log of these events; the n-th one has the id `evt_n` and the position n. */
function logOf(events: readonly Logged[]): EventRow[] {
  return events.map(([outcome, second, status, made = {}], index) => {
    const position = index + 1;
    const createdSeconds = CREATED + second;
    const eventId = `evt_${position}`;
    const event = received(eventBody({ eventId, createdSeconds, status, ...made }));
    return {
      position,
      key: event.key,
      eventId,
      type: event.type,
      customerId: 'cus_1',
      subscriptionId: 'sub_1',
      createdAtMs: createdSeconds * 1_000,
      receivedAtMs: event.receivedAtMs,
      deliveries: 1,
      outcome,
      body: event.body,
    };
  });
}

const CONTEXT: Omit<Context, 'log'> = {
  planSelection: 'newest',
  teamIds: [7],
  names: new Map([['prod_1', 'Pro']]),
  prunedBeforeMs: null,
};

function explainAt(
  position: number,
  log: readonly EventRow[],
  context: Partial<Context> = {},
): Explanation {
  const event = log[position - 1];
  if (event === undefined) throw new RangeError('no such event');
  const decided = log.filter(({ outcome }) => outcome !== 'parked' && outcome !== 'unreadable');
  return explain(event, { ...CONTEXT, log: decided, ...context });
}

const whyAt = (...args: Parameters<typeof explainAt>) => explainAt(...args).why;

const statuses = ({ plans }: Explanation) =>
  plans && [plans.before?.subscriptionStatus ?? null, plans.after?.subscriptionStatus ?? null];

const replaced = (status: string) => ({ previousAttributes: { status } });
const other = { subscriptionId: 'sub_2' };

describe('applied', () => {
  test('the newest one, with the plan before and after it', () => {
    const log = logOf([
      ['applied', 0, 'trialing'],
      ['applied', 9, 'active'],
      ['applied', 20, 'canceled'],
    ]);
    expect(explainAt(2, log)).toEqual({
      why: [
        "applied: it was the newest of the customer's events, and active gives the team its plan.",
      ],
      plans: {
        before: expect.objectContaining({ subscriptionStatus: 'trialing', planName: 'Pro' }),
        after: expect.objectContaining({ subscriptionStatus: 'active', planName: 'Pro' }),
      },
    });
    expect(whyAt(3, log)).toEqual([
      "applied: it was the newest of the customer's events, and canceled takes the plan away.",
    ]);
    expect(statuses(explainAt(1, log))).toEqual([null, 'trialing']);
  });

  test('by telling the order of the others of its second', () => {
    const told = logOf([
      ['applied', 0, 'canceled', replaced('past_due')],
      ['applied', 0, 'active', replaced('trialing')],
      ['applied', 0, 'past_due', replaced('active')],
    ]);
    expect(whyAt(3, told)).toEqual([
      'applied: it told in which order the events of its second happened: the team followed ' +
        'evt_1 (position 1), which came last.',
    ]);
    expect(statuses(explainAt(3, told))).toEqual(['active', 'canceled']);
  });

  test('where nothing tells the order of a second', () => {
    const log = logOf([
      ['applied', 0, 'canceled'],
      ['applied', 0, 'active'],
    ]);
    expect(whyAt(2, log)).toEqual([
      "applied: it was the newest of the customer's events, and active gives the team its plan.",
      'Nothing tells which of the 2 events of its second came last: the later arrival counts ' +
        "until Stripe's API is asked.",
    ]);
    expect(whyAt(1, log)).toHaveLength(1);
  });

  test('what the API showed', () => {
    const log = logOf([
      ['applied', 0, 'canceled'],
      ['applied', 0, 'active'],
      ['applied', 0, 'canceled'],
    ]);
    const look = { ...(log[2] as EventRow), type: SNAPSHOT_TYPE, eventId: null };
    const withLook = [...log.slice(0, 2), look];
    expect(whyAt(3, withLook)).toEqual([
      "applied: Stripe's API showed the subscription so, and canceled takes the plan away.",
    ]);
    const later = [
      ...withLook,
      { ...(logOf([['stale', -9, 'active']])[0] as EventRow), position: 4 },
    ];
    expect(whyAt(4, later)).toEqual([
      "stale: a look at Stripe's API (position 3) of the same subscription was there before, created 9 s later.",
    ]);
  });

  test('with TEAM_PLAN=best', () => {
    const log = logOf([
      ['applied', 0, 'active'],
      ['unchanged', 9, 'trialing', other],
      ['applied', 20, 'canceled'],
    ]);
    const best = { planSelection: 'best' } as const;
    expect(whyAt(1, log, best)).toEqual([
      "applied: its subscription was the customer's best one (TEAM_PLAN=best), and active gives the team its plan.",
    ]);
    expect(whyAt(2, log, best)).toEqual([
      "unchanged: the team kept evt_1 (position 1) of sub_1, the customer's best one (TEAM_PLAN=best).",
    ]);
    expect(whyAt(3, log, best)).toEqual([
      "applied: its subscription was not the customer's best one any more: the team followed evt_2 (position 2) of sub_2.",
    ]);
  });
});

describe('stale', () => {
  test.each([
    [1, '1 s'],
    [119, '119 s'],
    [120, '2 min'],
    [7_199, '119 min'],
    [7_200, '2 h'],
    [2 * DAY - 1, '47 h'],
    [2 * DAY, '2 days'],
  ])('of the same subscription, %i s older', (seconds, words) => {
    const log = logOf([
      ['applied', seconds, 'active'],
      ['stale', 0, 'canceled'],
    ]);
    const explained = explainAt(2, log);
    expect(explained.why).toEqual([
      `stale: evt_1 (position 1) of the same subscription was there before, created ${words} later.`,
    ]);
    expect(statuses(explained)).toEqual(['active', 'active']);
  });

  test('within one second', () => {
    const log = logOf([
      ['applied', 0, 'active', replaced('trialing')],
      ['stale', 0, 'trialing', replaced('canceled')],
    ]);
    expect(whyAt(2, log)).toEqual([
      'stale: of the 2 events of its second evt_1 (position 1) came last.',
    ]);
  });

  test('of another subscription', () => {
    const later = logOf([
      ['applied', 5, 'active', other],
      ['stale', 0, 'canceled'],
    ]);
    expect(whyAt(2, later)).toEqual([
      'stale: evt_1 (position 1) of sub_2 was there before, created 5 s later.',
    ]);
    const same = logOf([
      ['applied', 0, 'active', other],
      ['stale', 0, 'canceled'],
    ]);
    expect(whyAt(2, same)).toEqual([
      'stale: evt_1 (position 1) of sub_2 was there before, created in the same second: of two ' +
        'subscriptions the one that gives a plan counts, and then the larger id.',
    ]);
  });

  test('parked at first, and overtaken until a team had its customer', () => {
    const log = logOf([
      ['stale', 0, 'active'],
      ['applied', 100, 'canceled'],
      ['applied', 200, 'active'],
    ]);
    const explained = explainAt(1, log);
    expect(explained.why).toEqual([
      'stale: evt_2 (position 2) of the same subscription is newer, created 100 s later.',
      'It came earlier, and was decided on when a team had its customer.',
    ]);
    expect(statuses(explained)).toEqual(['canceled', 'canceled']);
  });
});

test('unchanged: a status without effect', () => {
  const log = logOf([
    ['applied', 0, 'active'],
    ['unchanged', 9, 'past_due'],
  ]);
  const explained = explainAt(2, log);
  expect(explained.why).toEqual([
    'unchanged: past_due has no effect on a team (contract, section 3).',
  ]);
  expect(statuses(explained)).toEqual(['active', 'active']);
});

test('parked: what to do, or that it will be done', () => {
  const log = logOf([['parked', 0, 'active']]);
  expect(explainAt(1, log, { teamIds: [] })).toEqual({
    why: [
      'parked: no team has the customer cus_1. It is applied as soon as one has: instep team link ID --customer cus_1',
    ],
    plans: null,
  });
  expect(whyAt(1, log)).toEqual([
    'parked: no team had the customer when it came. Team 7 has it now: a running server applies it within seconds.',
  ]);
});

test('unreadable: where, or that it is readable by now', () => {
  const log = logOf([['unreadable', 0, 'active']]);
  expect(whyAt(1, log)).toEqual([
    'unreadable when it came. This Instep can read it: instep events replay 1',
  ]);
  const body = Buffer.from('{"type":"customer.subscription.deleted","data":{"object":[]}}');
  const [row] = log;
  expect(whyAt(1, [{ ...(row as EventRow), body }])).toEqual([
    expect.stringMatching(/^unreadable: data\.object: is a list/),
  ]);
});

describe('what the log does not tell any more', () => {
  const log = logOf([
    ['stale', 0, 'active'],
    ['applied', 100, 'active'],
  ]);

  test('what was there before may have been pruned', () => {
    const pruned = { prunedBeforeMs: CREATED * 1_000 + 1 };
    expect(whyAt(2, log.slice(0, 2), pruned)).toEqual([
      expect.stringMatching(/^applied: /),
      'Events that came before 2023-11-14T22:13:20.001Z may have been pruned: there may have ' +
        'been more before it than is shown.',
    ]);
    expect(whyAt(2, log, { prunedBeforeMs: CREATED * 1_000 - 1 })).toHaveLength(1);
    expect(whyAt(1, log, pruned)).toContain(
      'It was parked at first, or what was there when it came has been pruned.',
    );
  });

  test('TEAM_PLAN was another one', () => {
    expect(explainAt(1, logOf([['stale', 0, 'active']]))).toEqual({
      why: [
        'stale: the log does not tell why any more: events around it were pruned, or were decided on in another order than they came, or TEAM_PLAN was another one.',
      ],
      plans: null,
    });
  });
});
