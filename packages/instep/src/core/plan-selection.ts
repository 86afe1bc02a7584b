// Which subscription or grant decides a team's plan, and who wrote the plan that a team's row has. Whatever writes,
// compares or explains a plan asks here.

import type { ApplicationId } from './application.ts';
import { rankOf } from './status.ts';
import type { SubscriptionState } from './subscription-event.ts';
import { type DecidingEvent, isSameDecidingEvent } from './tie-group.ts';
import { isSamePlan, NO_PLAN, planAfter, type TeamPlan } from './transition.ts';

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

/** A plan that a team was given without a subscription (docs/grants.md). */
export type Grant = {
  readonly planName: string;
  readonly productId: string | null;
  /** Whether its end has come: it grants nothing more, but the team's row can still have its plan. */
  readonly isOver: boolean;
};

/** The grants of teams, by the team's id as text. */
export type Grants = ReadonlyMap<string, Grant>;

export const NO_GRANTS: Grants = new Map();

export function grantOf(grants: Grants, teamId: ApplicationId): Grant | null {
  return grants.get(String(teamId)) ?? null;
}

/**
 * The plan of the customer's team; `null` when the customer has no subscription, and the team no grant. The team's
 * grant counts while no subscription grants a plan. `names` has the names of products, for events without one.
 */
export function teamPlan(
  decidingEvents: DecidingEvents,
  planSelection: PlanSelection,
  names: ReadonlyMap<string | null, string>,
  grant: Grant | null = null,
): TeamPlan | null {
  const selected = selectedSubscription(decidingEvents, planSelection);
  const name = selected && (selected.planName ?? names.get(selected.productId) ?? null);
  const plan = selected && planAfter(selected, name);
  const isGranted = grant !== null && !grant.isOver && rankOf(selected?.status ?? '') === 0;
  return isGranted ? grantedPlan(grant) : plan;
}

function grantedPlan({ planName, productId }: Grant): TeamPlan {
  return {
    providerSubscriptionId: null,
    providerProductId: productId,
    planName,
    subscriptionStatus: 'active',
  };
}

/** The plan of a team whose customer has no subscription. */
export function planWithoutSubscription(grant: Grant | null): TeamPlan {
  return teamPlan(NO_DECIDING_EVENTS, 'newest', new Map(), grant) ?? NO_PLAN;
}

/** Whether a row has the plan of the team's grant. As below, the name is ignored. */
export function isGrantedPlan(plan: TeamPlan, grant: Grant | null): boolean {
  return grant !== null && isSamePlan(plan, { ...grantedPlan(grant), planName: plan.planName });
}

/**
 * What a team's grant has to do with a change of its plan: the row gets the granted plan, or loses it, because the end
 * of the grant has come.
 */
export function grantCauseOf(
  oldPlan: TeamPlan,
  newPlan: TeamPlan,
  grant: Grant | null,
): 'grant' | 'grant_ended' | null {
  if (grant?.isOver) return isGrantedPlan(oldPlan, grant) ? 'grant_ended' : null;
  return isGrantedPlan(newPlan, grant) ? 'grant' : null;
}

/**
 * Who wrote a row's plan last. `instep`: Instep could have, because the plan is empty, or the customer's under either
 * setting, since the setting can have changed, or that of the team's grant. The name is ignored, because it can arrive
 * later or change. Any other plan is the application's own: `unknown subscription`, if no event of its subscription is
 * known, so that only the application can tell whether it is right; or else `by hand`.
 */
export function planWriterOf(
  plan: TeamPlan,
  decidingEvents: DecidingEvents,
  grant: Grant | null = null,
): 'instep' | 'unknown subscription' | 'by hand' {
  const selected = (['newest', 'best'] as const).map((planSelection) =>
    selectedSubscription(decidingEvents, planSelection),
  );
  const isFromInstep =
    isSamePlan(plan, NO_PLAN) ||
    isGrantedPlan(plan, grant) ||
    selected.some((subscription) =>
      isSamePlan(plan, subscription && planAfter(subscription, plan.planName)),
    );
  if (isFromInstep) return 'instep';
  const { providerSubscriptionId: id } = plan;
  return id !== null && !decidingEvents.has(id) ? 'unknown subscription' : 'by hand';
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
