import { type EventRow, type Reason, reasonText, SNAPSHOT_TYPE } from 'instep/operate';
import type { SubscriptionEventFields } from 'instep/testing';
import type { LoggedOutcome } from 'instep-engine/log';
import { explainLog, type LogContext } from 'instep-operate/src/event-log/reasons.ts';
import { describe, expect, test } from 'vitest';
import { eventBody, received } from '../support/stripe/events.ts';

const CREATED = 1_700_000_000;

type Logged = readonly [
  outcome: LoggedOutcome,
  second: number,
  status: string,
  made?: Partial<SubscriptionEventFields>,
];

/** A log of these events; the n-th one has the id `evt_n` and the position n. */
function logOf(events: readonly Logged[]): EventRow[] {
  return events.map(([outcome, second, status, fields = {}], index) => {
    const position = index + 1;
    const createdSeconds = CREATED + second;
    const eventId = `evt_${position}`;
    const event = received(eventBody({ eventId, createdSeconds, status, ...fields }));
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
      parkedOutcome: null,
      body: event.body,
    };
  });
}

const CONTEXT: LogContext = {
  planSelection: 'newest',
  teamIds: [7],
};

function explainAt(
  position: number,
  log: readonly EventRow[],
  context: Partial<LogContext> = {},
): readonly Reason[] {
  const event = log[position - 1];
  if (event === undefined) throw new RangeError('no such event');
  return explainLog(log, { ...CONTEXT, ...context })(event);
}

const whyAt = (...args: Parameters<typeof explainAt>) => explainAt(...args).map(reasonText);

const replaced = (status: string) => ({ previousAttributes: { status } });
const other = { subscriptionId: 'sub_2' };

describe('applied', () => {
  test('names the newest event', () => {
    const log = logOf([
      ['applied', 0, 'trialing'],
      ['applied', 9, 'active'],
      ['applied', 20, 'canceled'],
    ]);
    expect(whyAt(2, log)).toEqual([
      "It was the customer's newest event at that time, and the status active gives the team its plan.",
    ]);
    expect(whyAt(3, log)).toEqual([
      "It was the customer's newest event at that time, and the status canceled takes the plan away.",
    ]);
  });

  test('names the event that came last when this one decided the order of its second', () => {
    const ordered = logOf([
      ['applied', 0, 'canceled', replaced('unpaid')],
      ['applied', 0, 'active', replaced('trialing')],
      ['applied', 0, 'unpaid', replaced('active')],
    ]);
    expect(whyAt(3, ordered)).toEqual([
      'Of the events in its second, evt_1 (position 1) came last.',
    ]);
  });

  test('says that the order of a second is ambiguous', () => {
    const log = logOf([
      ['applied', 0, 'canceled'],
      ['applied', 0, 'active'],
    ]);
    expect(whyAt(2, log)).toEqual([
      "It was the customer's newest event at that time, and the status active gives the team its plan.",
      'The order of the 2 events in its second is ambiguous. The later arrival counts until ' +
        "Stripe's API is asked.",
    ]);
    expect(whyAt(1, log)).toHaveLength(1);
  });

  test("names a snapshot from Stripe's API", () => {
    const log = logOf([
      ['applied', 0, 'canceled'],
      ['applied', 0, 'active'],
      ['applied', 0, 'canceled'],
    ]);
    const event = log[2] as EventRow;
    const body = Buffer.from(event.body.toString().replace(event.type, SNAPSHOT_TYPE));
    const snapshot = { ...event, type: SNAPSHOT_TYPE, eventId: null, body };
    const withSnapshot = [...log.slice(0, 2), snapshot];
    expect(whyAt(3, withSnapshot)).toEqual([
      "Stripe's API returned the subscription in this state, and the status canceled takes the plan away.",
    ]);
    const later = [
      ...withSnapshot,
      { ...(logOf([['stale', -9, 'active']])[0] as EventRow), position: 4 },
    ];
    expect(whyAt(4, later)).toEqual([
      "A newer event decides: a snapshot from Stripe's API (position 3) of sub_1, created 9 s later.",
    ]);
  });

  test('names the best subscription with TEAM_PLAN=best', () => {
    const log = logOf([
      ['applied', 0, 'active'],
      ['unchanged', 9, 'trialing', other],
      ['applied', 20, 'canceled'],
    ]);
    const best = { planSelection: 'best' } as const;
    expect(whyAt(1, log, best)).toEqual([
      "Its subscription was the customer's best one at that time (TEAM_PLAN=best), and the status active gives the team its plan.",
    ]);
    expect(whyAt(2, log, best)).toEqual([
      "The team has the plan of evt_1 (position 1) of sub_1, the customer's best subscription (TEAM_PLAN=best).",
    ]);
    expect(whyAt(3, log, best)).toEqual([
      "The team has the plan of evt_2 (position 2) of sub_2, the customer's best subscription (TEAM_PLAN=best).",
    ]);
  });
});

describe('stale', () => {
  test('names the newer event of the same subscription', () => {
    const log = logOf([
      ['applied', 7_200, 'active'],
      ['stale', 0, 'canceled'],
    ]);
    expect(whyAt(2, log)).toEqual([
      'A newer event decides: evt_1 (position 1) of sub_1, created 2 h later.',
    ]);
  });

  test('names the event that came last in its second', () => {
    const log = logOf([
      ['applied', 0, 'active', replaced('trialing')],
      ['stale', 0, 'trialing', replaced('canceled')],
    ]);
    expect(whyAt(2, log)).toEqual(['Of the events in its second, evt_1 (position 1) came last.']);
  });

  test('names the newer event of another subscription', () => {
    const later = logOf([
      ['applied', 5, 'active', other],
      ['stale', 0, 'canceled'],
    ]);
    expect(whyAt(2, later)).toEqual([
      'A newer event decides: evt_1 (position 1) of sub_2, created 5 s later.',
    ]);
    const same = logOf([
      ['applied', 0, 'active', other],
      ['stale', 0, 'canceled'],
    ]);
    expect(whyAt(2, same)).toEqual([
      'In the same second evt_1 (position 1) of sub_2 counts: of two subscriptions, the one that ' +
        'gives a plan, then the one with the larger id.',
    ]);
  });
});

test('says for a parked event whose customer has a team now that it is about to be applied', () => {
  expect(whyAt(1, logOf([['parked', 0, 'active']]))).toEqual([
    'No team was linked to the customer when the event arrived. Team 7 is linked now, and a running server decides it within seconds.',
  ]);
});

test('says that the reason is no longer known where the log is incomplete', () => {
  const [reason] = explainAt(1, logOf([['stale', 0, 'active']]));
  expect(reason?.code).toBe('no-longer-known');
});
