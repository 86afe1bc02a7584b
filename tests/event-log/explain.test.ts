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
  return explainLog(log, { planSelection, teamIds: [7] })(event);
}

const replaced = (status: string) => ({ previousAttributes: { status } });
const other = { subscriptionId: 'sub_2' };
const NEWEST = "It was the customer's newest event at that time, and the status";
const BEST = "the customer's best subscription (TEAM_PLAN=best).";

type Case = {
  readonly log: readonly Logged[];
  /** The texts by position. */
  readonly why: Readonly<Record<number, readonly string[]>>;
  readonly planSelection?: PlanSelection;
};

const CASES: Readonly<Record<string, Case>> = {
  'the newest event': {
    log: [
      ['applied', 0, 'trialing'],
      ['applied', 9, 'active'],
      ['applied', 20, 'canceled'],
      ['stale', -7_200, 'active'],
    ],
    why: {
      2: [`${NEWEST} active gives the team its plan.`],
      3: [`${NEWEST} canceled takes the plan away.`],
      4: ['A newer event decides: evt_3 (position 3) of sub_1, created 2 h later.'],
    },
  },
  'the order of a second': {
    log: [
      ['applied', 0, 'canceled', replaced('unpaid')],
      ['applied', 0, 'active', replaced('trialing')],
      ['applied', 0, 'unpaid', replaced('active')],
    ],
    why: {
      3: ['Of the events in its second, evt_1 (position 1) came last.'],
    },
  },
  'an ambiguous order': {
    log: [
      ['applied', 0, 'canceled'],
      ['applied', 0, 'active'],
    ],
    why: {
      1: [`${NEWEST} canceled takes the plan away.`],
      2: [
        `${NEWEST} active gives the team its plan.`,
        "The order of the events in its second is ambiguous. The later arrival counts until Stripe's API is asked.",
      ],
    },
  },
  'the best subscription': {
    log: [
      ['applied', 0, 'active'],
      ['unchanged', 9, 'trialing', other],
      ['applied', 20, 'canceled'],
    ],
    why: {
      1: [
        "Its subscription was the customer's best one at that time (TEAM_PLAN=best), and the status active gives the team its plan.",
      ],
      2: [`The team has the plan of evt_1 (position 1) of sub_1, ${BEST}`],
      3: [`The team has the plan of evt_2 (position 2) of sub_2, ${BEST}`],
    },
    planSelection: 'best',
  },
  'another subscription': {
    log: [
      ['applied', 5, 'active', other],
      ['stale', 0, 'canceled'],
      ['stale', 5, 'canceled'],
    ],
    why: {
      2: ['A newer event decides: evt_1 (position 1) of sub_2, created 5 s later.'],
      3: [
        'In the same second evt_1 (position 1) of sub_2 counts: of two subscriptions, the one that ' +
          'gives a plan, then the one with the larger id.',
      ],
    },
  },
  'a team that was linked later': {
    log: [['parked', 0, 'active']],
    why: {
      1: [
        'No team was linked to the customer when the event arrived. Team 7 is linked now, and a running server decides it within seconds.',
      ],
    },
  },
};

test.each(Object.entries(CASES))('names %s', (_, { log, why, planSelection }) => {
  for (const [position, texts] of Object.entries(why)) {
    const reasons = reasonsAt(Number(position), logOf(log), planSelection);
    expect(reasons.map(reasonText)).toEqual(texts);
  }
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
  expect([...reasonsAt(2, log), ...reasonsAt(3, log)].map(reasonText)).toEqual([
    "Stripe's API returned the subscription in this state, and the status canceled takes the plan away.",
    "A newer event decides: a snapshot from Stripe's API (position 2) of sub_1, created 9 s later.",
  ]);
});

test('says that the reason is no longer known where the log is incomplete', () => {
  const [reason] = reasonsAt(1, logOf([['stale', 0, 'active']]));
  expect(reason?.code).toBe('no-longer-known');
});
