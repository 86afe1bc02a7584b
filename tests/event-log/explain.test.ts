import {
  type EventRow,
  type PlanSelection,
  type Reason,
  reasonText,
  SNAPSHOT_TYPE,
} from 'instep/operate';
import type { SubscriptionEventFields } from 'instep/testing';
import type { LoggedOutcome } from 'instep-engine/log';
import { explainLog } from 'instep-operate/src/event-log/reasons.ts';
import { expect, test } from 'vitest';
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

function reasonsAt(
  position: number,
  log: readonly EventRow[],
  planSelection: PlanSelection = 'newest',
): readonly Reason[] {
  const event = log[position - 1];
  if (event === undefined) throw new RangeError('no such event');
  return explainLog(log, { planSelection, teams: [{ id: 7 }] })(event);
}

const replaced = (status: string) => ({ previousAttributes: { status } });
const other = { subscriptionId: 'sub_2' };

/** The code of a reason, and the positions of the events that its sentence names. */
const named = ({ code, parts }: Reason) =>
  [code, ...parts.flatMap((part) => (typeof part === 'string' ? [] : part.position))].join(' ');

/** Logs, with the reasons of their events in order. */
const CASES: readonly (readonly [string, PlanSelection, readonly Logged[], readonly string[]])[] = [
  [
    'the newest event',
    'newest',
    [
      ['applied', 0, 'trialing'],
      ['applied', 9, 'active'],
      ['applied', 20, 'canceled'],
      ['stale', -7_200, 'active'],
    ],
    ['newest-event', 'newest-event', 'newest-event', 'newer-event 3'],
  ],
  [
    'the order of a second',
    'newest',
    [
      ['applied', 0, 'canceled', replaced('unpaid')],
      ['applied', 0, 'active', replaced('trialing')],
      ['applied', 0, 'unpaid', replaced('active')],
    ],
    ['newest-event', 'newest-event, ambiguous-order', 'last-of-second 1'],
  ],
  [
    'an ambiguous order',
    'newest',
    [
      ['applied', 0, 'canceled'],
      ['applied', 0, 'active'],
    ],
    ['newest-event', 'newest-event, ambiguous-order'],
  ],
  [
    'the best subscription',
    'best',
    [
      ['applied', 0, 'active'],
      ['unchanged', 9, 'trialing', other],
      ['applied', 20, 'canceled'],
    ],
    ['best-subscription', 'better-subscription 1', 'better-subscription 2'],
  ],
  [
    'another subscription',
    'newest',
    [
      ['applied', 5, 'active', other],
      ['stale', 0, 'canceled'],
      ['stale', 5, 'canceled'],
    ],
    ['newest-event', 'newer-event 1', 'newer-event 1'],
  ],
  ['a team that was linked later', 'newest', [['parked', 0, 'active']], ['team-linked-since']],
  ['an incomplete log', 'newest', [['stale', 0, 'active']], ['no-longer-known']],
];

test.each(CASES)('names %s', (_, planSelection, events, expected) => {
  const log = logOf(events);
  const reasons = log.map(({ position }) => reasonsAt(position, log, planSelection));
  expect(reasons.map((all) => all.map(named).join(', '))).toEqual(expected);
});

test('says it in a sentence', () => {
  const log = logOf([
    ['applied', 0, 'canceled'],
    ['stale', -7_200, 'active'],
  ]);
  expect(log.flatMap(({ position }) => reasonsAt(position, log)).map(reasonText)).toEqual([
    "It was the customer's newest event at that time, and the status canceled takes the plan away.",
    'A newer event decides: evt_1 (position 1) of sub_1, created 2 h later.',
  ]);
});

test("names a snapshot from Stripe's API", () => {
  const log = logOf([
    ['applied', 0, 'canceled'],
    ['applied', 0, 'canceled'],
    ['stale', -9, 'active'],
  ]).map((event) => {
    if (event.position !== 2) return event;
    const body = Buffer.from(event.body.toString().replace(event.type, SNAPSHOT_TYPE));
    return { ...event, type: SNAPSHOT_TYPE, eventId: null, body };
  });
  expect([...reasonsAt(2, log), ...reasonsAt(3, log)].map(named)).toEqual([
    'shown-by-stripe',
    'newer-event 2',
  ]);
});
