import type { Customer } from '../../core/customer.ts';
import type { ListedSubscription } from '../../core/listed-subscription.ts';
import { followedEvent, type PlanSelection, teamPlan } from '../../core/plan-selection.ts';
import type { SubscriptionEvent } from '../../core/subscription-event.ts';
import { effectOf, isSamePlan, type TeamPlan } from '../../core/transition.ts';
import type { LinkedTeam } from '../../queries/teams.ts';

/** Why a team is not what it must be. */
export type DriftCause = 'missed event' | 'never seen' | 'changed by hand';

/** A subscription, and the second since which it counts as what Stripe shows it to be. */
export type DatedSubscription = { readonly listed: ListedSubscription; readonly seconds: number };

/** What a team has, what it must have, and why that differs. */
export type Drift = {
  readonly team: LinkedTeam;
  readonly shouldBe: TeamPlan;
  readonly cause: DriftCause;
  /** The subscriptions that are not as we know them; none for what was changed by hand. */
  readonly subscriptionIds: readonly string[];
  /** The drift is no older than that, in seconds since 1970; `null` when nothing tells. */
  readonly sinceSeconds: number | null;
  /** What is to be known of the customer's subscriptions, so that the team is right. */
  readonly looks: readonly DatedSubscription[];
};

export type DriftOptions = {
  readonly planSelection: PlanSelection;
  /** The names of products, as far as they are to be had. */
  readonly names: ReadonlyMap<string | null, string>;
};

/**
 * Compares a team with what the rule makes of what Stripe shows; `null` when they agree. Pure.
 *
 * A subscription that is over counts since its end, which Stripe tells. Nothing tells when one that
 * is not over last changed: if it is not as we know it, it counts as of the look, and with it all
 * others of the customer that are not over. Of these the team has, by the rule, one that gives a plan.
 */
export function driftOf(
  team: LinkedTeam,
  known: Customer,
  listed: readonly ListedSubscription[],
  { planSelection, names }: DriftOptions,
): Drift | null {
  const telling = listed.filter((one) => effectOf(one.status) !== 'none' && !isOlder(one, known));
  const news = telling.filter((one) => !isKnown(one, known, names));
  const others = news.some(isAlive)
    ? telling.filter((one) => isAlive(one) && !news.includes(one))
    : [];
  const looks = dated([...news, ...others], known);
  const shown = new Map(known);
  for (const look of looks) {
    shown.set(look.listed.subscriptionId, { newest: eventOf(look), isOrderAmbiguous: false });
  }
  // Of those that ended before we ever heard of them, only one that the team must follow matters.
  const followedId = followedEvent(shown, planSelection)?.subscriptionId;
  const changed = news.filter(
    ({ subscriptionId, status }) =>
      known.has(subscriptionId) || effectOf(status) === 'grants' || subscriptionId === followedId,
  );

  const isByHand = changed.length === 0;
  const plan = teamPlan(isByHand ? known : shown, planSelection, names);
  if (plan === null) return null;
  const shouldBe = { ...plan, planName: plan.planName ?? nameThatMayBe(team, plan) };
  if (isByHand && isSamePlan(shouldBe, team.plan)) return null;
  const main = changed.find(({ subscriptionId }) => subscriptionId === followedId) ?? changed[0];
  return {
    team,
    shouldBe,
    cause: causeOf(changed, known),
    subscriptionIds: changed.map(({ subscriptionId }) => subscriptionId),
    sinceSeconds: main === undefined ? null : sinceOf(main, known),
    looks: isByHand
      ? []
      : looks.filter((look) => changed.includes(look.listed) || others.includes(look.listed)),
  };
}

/** Whether something newer has come since it was listed. */
function isOlder({ subscriptionId, asOfSeconds }: ListedSubscription, known: Customer): boolean {
  const state = known.get(subscriptionId);
  return state !== undefined && state.newest.createdSeconds > asOfSeconds;
}

/** Whether we know it to be so. An endpoint of an old API version tells names, and no products. */
function isKnown(
  { subscriptionId, status, productId, planName }: ListedSubscription,
  known: Customer,
  names: DriftOptions['names'],
): boolean {
  const newest = known.get(subscriptionId)?.newest;
  if (newest?.status !== status) return false;
  if (effectOf(status) !== 'grants') return true;
  if (newest.productId !== null) return newest.productId === productId;
  const name = planName ?? names.get(productId) ?? null;
  return name === null || newest.planName === null || newest.planName === name;
}

function isAlive({ status, endedSeconds }: ListedSubscription): boolean {
  return endedSeconds === null && status !== 'canceled';
}

/** All that are alive as of one second, since between them nothing else tells an order. */
function dated(listed: readonly ListedSubscription[], known: Customer): DatedSubscription[] {
  const asOfSeconds = Math.min(...listed.map((one) => one.asOfSeconds));
  return listed.map((one) => {
    const seconds = isAlive(one) ? asOfSeconds : (one.endedSeconds ?? asOfSeconds);
    const knownSeconds = known.get(one.subscriptionId)?.newest.createdSeconds ?? seconds;
    return { listed: one, seconds: Math.max(seconds, knownSeconds) };
  });
}

function eventOf({ listed, seconds }: DatedSubscription): SubscriptionEvent {
  const { customerId, subscriptionId, status, productId, planName } = listed;
  return { customerId, subscriptionId, status, productId, planName, createdSeconds: seconds };
}

/** Where nobody tells the name of a plan, any name may be right. */
function nameThatMayBe(team: LinkedTeam, plan: TeamPlan): string | null {
  const { planName, providerProductId } = team.plan;
  const isSameProduct =
    plan.providerProductId !== null && providerProductId === plan.providerProductId;
  return isSameProduct ? planName : null;
}

function causeOf(changed: readonly ListedSubscription[], known: Customer): DriftCause {
  if (changed.length === 0) return 'changed by hand';
  return changed.some(({ subscriptionId }) => known.has(subscriptionId))
    ? 'missed event'
    : 'never seen';
}

function sinceOf(
  { subscriptionId, endedSeconds, beganSeconds }: ListedSubscription,
  known: Customer,
): number | null {
  return endedSeconds ?? known.get(subscriptionId)?.newest.createdSeconds ?? beganSeconds;
}
