import type { LoggedEvent } from '../core/logged-event.ts';
import { followedEvent, type PlanSelection, teamPlan } from '../core/plan-selection.ts';
import { lastOfSecond } from '../core/same-second-order.ts';
import type { SubscriptionEvent } from '../core/subscription-event.ts';
import { effectOf, type TeamPlan } from '../core/transition.ts';
import type { EventRow } from '../queries/search-events.ts';
import { SNAPSHOT_TYPE } from '../stripe/handled-event-type.ts';
import { parseAgain } from '../stripe/logged-event.ts';
import { type Moment, momentOfDecision } from './decision-time.ts';

/** What the tables say around an event. */
export type Surroundings = {
  readonly planSelection: PlanSelection;
  /** The teams that have its customer now. */
  readonly teamIds: readonly number[];
  /** The names of products, by id. */
  readonly names: ReadonlyMap<string, string>;
  /** Events that were received before may have been pruned; `null`: none was. */
  readonly prunedBeforeMs: number | null;
};

/** And what the log says: the events of its customer that were decided on, as they arrived. */
export type Context = Surroundings & { readonly log: readonly LoggedEvent[] };

/** What was decided on an event, in words. */
export type Explanation = {
  readonly why: readonly string[];
  /** What a team of the customer had before it and after it; `null` where that is not known. */
  readonly plans: { readonly before: TeamPlan | null; readonly after: TeamPlan | null } | null;
};

/** Says what was decided on an event and why, from nothing but what is stored. Pure. */
export function explain(event: EventRow, context: Context): Explanation {
  const isDecided = event.outcome !== 'unreadable' && event.outcome !== 'parked';
  const moment = isDecided ? momentOfDecision(context.log, event, context.planSelection) : null;
  return explainMoment(event, moment, context);
}

/** The same, when it is known when it was decided on; `null` when the log does not tell. Pure. */
export function explainMoment(
  event: EventRow,
  moment: Moment | null,
  surroundings: Surroundings,
): Explanation {
  const { outcome } = event;
  const { planSelection, names } = surroundings;
  if (outcome === 'unreadable') return { why: [whyUnreadable(event)], plans: null };
  if (outcome === 'parked') return { why: [whyParked(event, surroundings.teamIds)], plans: null };
  if (moment === null) {
    const reasons =
      'events around it were pruned, or were decided on in another order than they came, or ' +
      'TEAM_PLAN was another one.';
    return { why: [`${outcome}: the log does not tell why any more: ${reasons}`], plans: null };
  }
  const reason = { applied: whyApplied, stale: whyStale, unchanged: whyUnchanged }[outcome];
  return {
    why: [`${outcome}: ${reason(moment, planSelection)}.`, ...remarks(moment, surroundings)],
    plans: {
      before: teamPlan(moment.before, planSelection, names),
      after: teamPlan(moment.step.customer, planSelection, names),
    },
  };
}

function whyUnreadable(event: EventRow): string {
  const again = parseAgain(event);
  if (again === null) return 'unreadable: what is stored is none of the two events.';
  return again.kind === 'unreadable'
    ? `unreadable: ${again.reason}.`
    : `unreadable when it came. This Instep can read it: instep events replay ${event.position}`;
}

function whyParked({ customerId }: EventRow, teamIds: readonly number[]): string {
  return teamIds.length === 0
    ? `parked: no team has the customer ${customerId}. It is applied as soon as one has: ` +
        `instep team link ID --customer ${customerId}`
    : `parked: no team had the customer when it came. Team ${teamIds.join(', ')} has it now: a ` +
        'running server applies it within seconds.';
}

function whyApplied({ event, step, rows }: Moment, planSelection: PlanSelection): string {
  const own = event.subscription;
  const followed = followedEvent(step.customer, planSelection);
  if (followed !== null && followed !== own) {
    return isSameSubscription(followed, own)
      ? `it told in which order the events of its second happened: the team followed ` +
          `${nameOf(followed, rows)}, which came last`
      : `its subscription was not the customer's best one any more: the team followed ` +
          nameWithSubscription(followed, rows);
  }
  const effect =
    effectOf(own.status) === 'grants' ? 'gives the team its plan' : 'takes the plan away';
  const because = event.isSnapshot
    ? "Stripe's API showed the subscription so"
    : planSelection === 'newest'
      ? "it was the newest of the customer's events"
      : "its subscription was the customer's best one (TEAM_PLAN=best)";
  return `${because}, and ${own.status} ${effect}`;
}

function whyStale(moment: Moment, planSelection: PlanSelection): string {
  const { event, before, step, second, isOnArrival, rows } = moment;
  const own = event.subscription;
  const isThere = isOnArrival ? 'was there before' : 'is newer';
  const known = before.get(own.subscriptionId)?.newest;
  if (known !== undefined && known.createdSeconds > own.createdSeconds) {
    return `${nameOf(known, rows)} of the same subscription ${isThere}, ${created(known, own)}`;
  }
  const { newest } = lastOfSecond(second);
  if (newest !== null && newest !== own) {
    return `of the ${second.length} events of its second ${nameOf(newest, rows)} came last`;
  }
  const followed = followedEvent(step.customer, planSelection);
  if (followed === null) return 'the team follows another event';
  const rule =
    followed.createdSeconds === own.createdSeconds
      ? ': of two subscriptions the one that gives a plan counts, and then the larger id'
      : '';
  return `${nameWithSubscription(followed, rows)} ${isThere}, ${created(followed, own)}${rule}`;
}

function whyUnchanged({ event, step, rows }: Moment, planSelection: PlanSelection): string {
  const { status } = event.subscription;
  if (effectOf(status) === 'none') return `${status} has no effect on a team (contract, section 3)`;
  const followed = followedEvent(step.customer, planSelection);
  const kept = followed === null ? 'another one' : nameWithSubscription(followed, rows);
  return `the team kept ${kept}, the customer's best one (TEAM_PLAN=best)`;
}

/** What else is to be known, where there is something. */
function remarks(moment: Moment, { planSelection, prunedBeforeMs }: Surroundings): string[] {
  const { event, before, step, second, isOnArrival, rows } = moment;
  const said: string[] = [];
  const state = step.customer.get(event.subscription.subscriptionId);
  const isOfSecond = state?.newest.createdSeconds === event.subscription.createdSeconds;
  if (isOfSecond && state?.isOrderAmbiguous) {
    said.push(
      `Nothing tells which of the ${second.length} events of its second came last: the later ` +
        "arrival counts until Stripe's API is asked.",
    );
  }
  if (!isOnArrival) {
    said.push(
      prunedBeforeMs === null
        ? 'It came earlier, and was decided on when a team had its customer.'
        : 'It was parked at first, or what was there when it came has been pruned.',
    );
  }
  const followed = followedEvent(before, planSelection);
  const row = followed === null ? undefined : rows.get(followed);
  if (prunedBeforeMs !== null && (row === undefined || row.receivedAtMs < prunedBeforeMs)) {
    said.push(
      `Events that came before ${new Date(prunedBeforeMs).toISOString()} may have been pruned: ` +
        'there may have been more before it than is shown.',
    );
  }
  return said;
}

function isSameSubscription(one: SubscriptionEvent, other: SubscriptionEvent): boolean {
  return one.subscriptionId === other.subscriptionId;
}

/** Its id, and its position, since several events can have one id. */
function nameOf(event: SubscriptionEvent, rows: Moment['rows']): string {
  const row = rows.get(event);
  if (row === undefined) return 'an event';
  const name = row.type === SNAPSHOT_TYPE ? "a look at Stripe's API" : 'an event without an id';
  return `${row.eventId ?? name} (position ${row.position})`;
}

function nameWithSubscription(event: SubscriptionEvent, rows: Moment['rows']): string {
  return `${nameOf(event, rows)} of ${event.subscriptionId ?? 'no subscription'}`;
}

const UNITS = [
  ['days', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const;

function created(event: SubscriptionEvent, than: SubscriptionEvent): string {
  const seconds = event.createdSeconds - than.createdSeconds;
  if (seconds === 0) return 'created in the same second';
  const [unit, length] = UNITS.find(([, length]) => seconds >= 2 * length) ?? ['s', 1];
  return `created ${Math.floor(seconds / length)} ${unit} later`;
}
