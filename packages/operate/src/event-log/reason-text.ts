// The words for the reasons of reasons.ts, once for the console, the commands and exports.

import { durationText } from 'instep-engine/runtime';
import type { EventReference, Reason } from './reasons.ts';

/** A part of the sentence that explains a reason: text, or an event, by its position if it is still in the log. */
export type ReasonPart = string | { readonly position: number | null; readonly name: string };

/**
 * Why an event has its outcome, in a sentence.
 *
 * @example
 * ```ts
 * import { type Reason, reasonText } from 'instep/operate';
 *
 * const reason: Reason = { code: 'no-team', customerId: 'cus_123' };
 * console.log(reasonText(reason)); // No team is linked to customer cus_123. …
 * ```
 */
export function reasonText(reason: Reason): string {
  return reasonParts(reason).map(partText).join('');
}

function partText(part: ReasonPart): string {
  if (typeof part === 'string') return part;
  const { position, name } = part;
  return position === null ? name : `${name} (position ${position})`;
}

function named({ position, eventId, isSnapshot }: EventReference): ReasonPart {
  if (position === null) return { position, name: 'an event that is no longer in the log' };
  const unnamed = isSnapshot ? "a snapshot from Stripe's API" : 'an event without an id';
  return { position, name: eventId ?? unnamed };
}

/**
 * The same sentence as `reasonText` in parts, so that a page can link the events that it names.
 *
 * @example
 * ```ts
 * import { type Reason, reasonParts } from 'instep/operate';
 *
 * const reason: Reason = { code: 'no-team', customerId: 'cus_123' };
 * console.log(reasonParts(reason)[0]); // No team is linked to customer cus_123. …
 * ```
 */
export function reasonParts(reason: Reason): readonly ReasonPart[] {
  switch (reason.code) {
    case 'unreadable':
      return [`${reason.problem ?? 'The stored body is not a subscription event'}.`];
    case 'readable-now':
      return [
        'This event could not be read when it arrived. Replay it: this version of Instep can read it.',
      ];
    case 'no-team':
      return [
        `No team is linked to customer ${reason.customerId}. The event is decided once a team is linked.`,
      ];
    case 'team-linked-since':
      return [
        `No team was linked to the customer when the event arrived. Team ${reason.teamIds.join(', ')} is ` +
          'linked now, and a running server decides it within seconds.',
      ];
    case 'no-longer-known':
      return [
        'The log no longer shows why: events around this one were pruned or were decided in ' +
          'another order, or TEAM_PLAN was different.',
      ];
    case 'newest-event':
      return [`It was the customer's newest event at that time, and ${effect(reason)}.`];
    case 'best-subscription':
      return [
        `Its subscription was the customer's best one at that time (TEAM_PLAN=best), and ${effect(reason)}.`,
      ];
    case 'shown-by-stripe':
      return [`Stripe's API returned the subscription in this state, and ${effect(reason)}.`];
    case 'newer-event':
      return newerEvent(reason);
    case 'last-of-second':
      return ['Of the events in its second, ', named(reason.deciding), ' came last.'];
    case 'better-subscription':
      return [
        'The team has the plan of ',
        ...withSubscription(reason.deciding),
        ", the customer's best subscription (TEAM_PLAN=best).",
      ];
    case 'status-without-effect':
      return [`The status ${reason.status} neither grants a plan nor clears it.`];
    case 'ambiguous-order':
      return [
        `The order of the ${reason.eventCount} events in its second is ambiguous. The later arrival ` +
          "counts until Stripe's API is asked.",
      ];
    case 'earlier-events-pruned':
      return [
        `Events received before ${new Date(reason.prunedBeforeMs).toISOString()} may have been ` +
          'pruned, so earlier events may be missing here.',
      ];
  }
}

type WithEffect = { status: string; effect: 'grants' | 'clears' };

function effect({ status, effect }: WithEffect): string {
  return `the status ${status} ${effect === 'grants' ? 'gives the team its plan' : 'takes the plan away'}`;
}

function newerEvent({
  deciding,
  secondsLater,
}: Extract<Reason, { readonly deciding: EventReference }>): readonly ReasonPart[] {
  if (secondsLater > 0) {
    const later = durationText(secondsLater * 1_000);
    return ['A newer event decides: ', ...withSubscription(deciding), `, created ${later} later.`];
  }
  return [
    'In the same second ',
    ...withSubscription(deciding),
    ' counts: of two subscriptions, the one that gives a plan, then the one with the larger id.',
  ];
}

function withSubscription(event: EventReference): readonly ReasonPart[] {
  return [named(event), ` of ${event.subscriptionId ?? 'no subscription'}`];
}
