// Folds a customer's log again, and says why each event was decided as it was: a code, and the sentence for it. For
// explain.ts, and for events that could not be read.

import { type EventRow, parseAgain, parseLogged, readEvents } from 'instep-engine/log';
import type { ApplicationId, Query } from 'instep-engine/postgres';
import {
  type CustomerState,
  effectOf,
  fold,
  KnownEvents,
  NO_STATE,
  type Outcome,
  type PlanSelection,
  type Reported,
  reportedBy,
  type SubscriptionEvent,
  selectedReport,
} from 'instep-engine/rule';
import { durationText } from 'instep-engine/runtime';
import { SNAPSHOT_TYPE } from 'instep-engine/stripe';

/** Why an event has its outcome. */
export type Reason = {
  readonly code: ReasonCode;
  /** The sentence, in parts: a page can link the events that it names. */
  readonly parts: readonly ReasonPart[];
};

export type ReasonCode =
  | 'unreadable'
  | 'readable-now'
  | 'no-team'
  | 'team-linked-since'
  | 'newest-event'
  | 'best-subscription'
  | 'shown-by-stripe'
  /** Another event decides, because it is newer, the last of its second, or of a better subscription. */
  | 'newer-event'
  | 'last-of-second'
  | 'better-subscription'
  | 'status-without-effect'
  | 'ambiguous-order'
  /** The events around it were pruned, or were decided in another order or with another TEAM_PLAN. */
  | 'no-longer-known';

/** A part of a sentence: text, or an event of the log. */
export type ReasonPart = string | { readonly position: number; readonly name: string };

const reason = (code: ReasonCode, ...parts: readonly ReasonPart[]): Reason => ({ code, parts });

/**
 * The sentence as text.
 *
 * @example
 * ```ts
 * import { type Reason, reasonText } from 'instep/operate';
 *
 * const reason: Reason = { code: 'last-of-second', parts: ['Another event came last.'] };
 * console.log(reasonText(reason)); // Another event came last.
 * ```
 */
export function reasonText({ parts }: Reason): string {
  const texts = parts.map((part) =>
    typeof part === 'string' ? part : `${part.name} (position ${part.position})`,
  );
  return texts.join('');
}

/** What the tables say about a customer, besides its events. */
type LogContext = {
  readonly planSelection: PlanSelection;
  /** The teams that have the customer now. */
  readonly teams: readonly { readonly id: ApplicationId }[];
};

/**
 * The number of events before an explained one from which its decision is recomputed. In a longer history the
 * reason for an event can be unknown.
 */
const EVENTS_BEFORE = 250;

/** The events of a customer up to these, which follow each other, with their reasons. */
export async function readHistory(
  query: Query,
  customerId: string | null,
  { positions, ...context }: LogContext & { readonly positions: readonly number[] },
) {
  const range = { after: 0, upTo: Math.max(0, ...positions) };
  const newest = { order: 'newest first', limit: EVENTS_BEFORE + positions.length } as const;
  const isKnown = customerId !== null && positions.length > 0;
  const found = isKnown ? await readEvents(query, { customerId }, range, newest) : [];
  const log = found.reverse();
  return { log, explain: explainLog(log, context) };
}

/** An event's decision, and what was known then. */
type Decision = {
  readonly outcome: Outcome;
  readonly parsed: SubscriptionEvent;
  /** The customer's state after it. */
  readonly after: CustomerState;
};

/** Returns the reasons of any event of a customer, from the customer's log. Pure. */
export function explainLog(
  log: readonly EventRow[],
  { planSelection, teams }: LogContext,
): (event: EventRow) => readonly Reason[] {
  const known = new KnownEvents();
  const eventOf = new Map<Reported, EventRow>();
  const decisions = new Map<string, Decision>();
  let state = NO_STATE;
  for (const event of log) {
    const parsed = parseLogged(event);
    if (parsed === null) continue;
    eventOf.set(reportedBy(parsed), event);
    const { state: after, outcome } = fold(state, parsed, known, planSelection);
    known.add(parsed);
    decisions.set(event.key, { outcome, parsed, after });
    state = after;
  }
  return (event) => {
    if (event.outcome === 'unreadable') return [whyUnreadable(event)];
    if (event.outcome === 'parked') return [whyParked(event, teams)];
    const decision = decisions.get(event.key);
    if (decision?.outcome !== event.outcome) return [NO_LONGER_KNOWN];
    const order = ambiguousOrder(decision);
    return [why(decision, planSelection, eventOf), ...(order === null ? [] : [order])];
  };
}

const NO_LONGER_KNOWN = reason(
  'no-longer-known',
  'The log no longer shows why: events around this one were pruned or were decided in another order, or TEAM_PLAN was different.',
);

export function whyUnreadable(event: EventRow): Reason {
  const again = parseAgain(event);
  if (again?.kind !== 'readable') {
    return reason(
      'unreadable',
      `${again?.problem ?? 'The stored body is not a subscription event'}.`,
    );
  }
  return reason(
    'readable-now',
    'This event could not be read when it arrived. Replay it: this version of Instep can read it.',
  );
}

function whyParked({ customerId }: EventRow, teams: LogContext['teams']): Reason {
  return teams.length === 0
    ? reason(
        'no-team',
        `No team is linked to customer ${customerId}. The event is decided once a team is linked.`,
      )
    : reason(
        'team-linked-since',
        `No team was linked to the customer when the event arrived. Team ${teams.map(({ id }) => id).join(', ')} is linked now, and a running server decides it within seconds.`,
      );
}

function why(
  { parsed, after }: Decision,
  planSelection: PlanSelection,
  eventOf: ReadonlyMap<Reported, EventRow>,
): Reason {
  const { subscriptionId, status, createdSeconds } = parsed.subscription;
  const own = reportedBy(parsed);
  const effect = effectOf(status);
  if (effect === 'none') {
    return reason(
      'status-without-effect',
      `The status ${status} neither grants a plan nor clears it.`,
    );
  }
  const ofSubscription = after.subscriptions.get(subscriptionId)?.deciding?.reported ?? own;
  const deciding = ofSubscription === own ? selectedReport(after, planSelection) : ofSubscription;
  if (deciding === null) return NO_LONGER_KNOWN;
  if (deciding === own) {
    const done = effect === 'grants' ? 'gives the team its plan' : 'takes the plan away';
    const ending = `and the status ${status} ${done}.`;
    if (parsed.isSnapshot) {
      return reason(
        'shown-by-stripe',
        `Stripe's API returned the subscription in this state, ${ending}`,
      );
    }
    return planSelection === 'newest'
      ? reason('newest-event', `It was the customer's newest event at that time, ${ending}`)
      : reason(
          'best-subscription',
          `Its subscription was the customer's best one at that time (TEAM_PLAN=best), ${ending}`,
        );
  }
  const name = named(eventOf.get(deciding));
  const decidingId = deciding.plan.providerSubscriptionId;
  const ofDeciding = ` of ${decidingId ?? 'no subscription'}`;
  const secondsLater = deciding.createdSeconds - createdSeconds;
  const isSame = decidingId === subscriptionId;
  if (isSame && secondsLater === 0) {
    return reason('last-of-second', 'Of the events in its second, ', name, ' came last.');
  }
  if (!isSame && planSelection === 'best') {
    const best = `${ofDeciding}, the customer's best subscription (TEAM_PLAN=best).`;
    return reason('better-subscription', 'The team has the plan of ', name, best);
  }
  if (secondsLater > 0) {
    const later = `${ofDeciding}, created ${durationText(secondsLater * 1_000)} later.`;
    return reason('newer-event', 'A newer event decides: ', name, later);
  }
  const counts = `${ofDeciding} counts: of two subscriptions, the one that gives a plan, then the one with the larger id.`;
  return reason('newer-event', 'In the same second ', name, counts);
}

function named(event: EventRow | undefined): ReasonPart {
  if (event === undefined) return 'an event that is no longer in the log';
  const isSnapshot = event.type === SNAPSHOT_TYPE;
  const unnamed = isSnapshot ? "a snapshot from Stripe's API" : 'an event without an id';
  return { position: event.position, name: event.eventId ?? unnamed };
}

function ambiguousOrder({ parsed, after }: Decision): Reason | null {
  const { subscriptionId, createdSeconds } = parsed.subscription;
  const deciding = after.subscriptions.get(subscriptionId)?.deciding;
  if (!deciding?.isAmbiguous || deciding.reported.createdSeconds !== createdSeconds) return null;
  return reason(
    'ambiguous-order',
    "The order of the events in its second is ambiguous. The later arrival counts until Stripe's API is asked.",
  );
}
