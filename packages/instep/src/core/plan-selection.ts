// Which subscription decides a team's plan, and who wrote the plan that a team's row has. Whatever writes,
// compares or explains a plan asks here.

import { rankOf } from './status.ts';
import type { SubscriptionState } from './subscription-event.ts';
import { type DecidingEvent, isSameDecidingEvent } from './tie-group.ts';
import { hasPlan, isSamePlan, NO_PLAN, planAfter, type TeamPlan } from './transition.ts';

/**
 * The deciding event of each of a customer's subscriptions, by the subscription's id. Events without one count as one
 * more subscription, under `null`.
 */
export type DecidingEvents = ReadonlyMap<string | null, DecidingEvent>;

export const NO_DECIDING_EVENTS: DecidingEvents = new Map();

/** The deciding events of a customer that differ from the stored ones. */
export function changedDecidingEvents(decidingEvents: DecidingEvents, stored: DecidingEvents) {
  if (decidingEvents === stored) return [];
  return [...decidingEvents.values()].filter(
    (event) => !isSameDecidingEvent(event, stored.get(event.subscription.subscriptionId)),
  );
}

/**
 * Which of a customer's subscriptions decides the team's plan (docs/contract.md, section 6, ordering rule 5): the one with
 * the newest deciding event, or the best one that grants a plan.
 */
export type PlanSelection = 'newest' | 'best';

/** The subscription that decides the team's plan; `null` when the customer has none. */
export function selectedSubscription(
  decidingEvents: DecidingEvents,
  planSelection: PlanSelection,
): SubscriptionState | null {
  const compare = planSelection === 'newest' ? compareNewest : compareBest;
  const subscriptions = [...decidingEvents.values()].map(({ subscription }) => subscription);
  return subscriptions.sort(compare).at(-1) ?? null;
}

/**
 * The plan of the customer's team; `null` when the customer has no subscription. `names` has the names of products, for
 * events without one.
 */
export function teamPlan(
  decidingEvents: DecidingEvents,
  planSelection: PlanSelection,
  names: ReadonlyMap<string | null, string>,
): TeamPlan | null {
  const selected = selectedSubscription(decidingEvents, planSelection);
  const name = selected && (selected.planName ?? names.get(selected.productId) ?? null);
  return selected && planAfter(selected, name);
}

/**
 * Who wrote a row's plan last.
 *
 * - `instep`: Instep could have, because the plan is empty, or the customer's under either setting, since the setting can
 *   have changed. The name is ignored, because it can arrive later or change.
 * - `app`: the application gave it away. It names no subscription, and the customer has none that grants a plan.
 * - `unknown subscription`: no event of its subscription is known, so only the application can tell whether it is right.
 * - `by hand`: every other plan.
 */
export function planWriterOf(
  plan: TeamPlan,
  decidingEvents: DecidingEvents,
): 'instep' | 'app' | 'unknown subscription' | 'by hand' {
  const selected = (['newest', 'best'] as const).map((planSelection) =>
    selectedSubscription(decidingEvents, planSelection),
  );
  const isFromInstep =
    isSamePlan(plan, NO_PLAN) ||
    selected.some((subscription) =>
      isSamePlan(plan, subscription && planAfter(subscription, plan.planName)),
    );
  if (isFromInstep) return 'instep';
  const { providerSubscriptionId: id } = plan;
  if (id !== null) return decidingEvents.has(id) ? 'by hand' : 'unknown subscription';
  const best = selectedSubscription(decidingEvents, 'best');
  return hasPlan(plan) && rankOf(best?.status ?? '') === 0 ? 'app' : 'by hand';
}

/**
 * Sorts the later event last. Within one second, nothing shows which of two subscriptions changed last, so
 * the one that grants a plan comes last, then the one with the larger id.
 */
function compareNewest(a: SubscriptionState, b: SubscriptionState): number {
  return (
    a.createdSeconds - b.createdSeconds ||
    rankOf(a.status) - rankOf(b.status) ||
    compareText(a.subscriptionId ?? '', b.subscriptionId ?? '')
  );
}

/** Sorts the best subscription that grants a plan last, and of two equals the newer one. */
function compareBest(a: SubscriptionState, b: SubscriptionState): number {
  return rankOf(a.status) - rankOf(b.status) || compareNewest(a, b);
}

/** Never returns 0: no two subscriptions of a customer have the same id. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
