import { type Customer, UNKNOWN_CUSTOMER } from '../../../core/customer.ts';
import { followedEvent, type PlanSelection, teamPlan } from '../../../core/plan-selection.ts';
import type { SubscriptionEvent } from '../../../core/subscription-event.ts';
import { effectOf, isSamePlan, type TeamPlan } from '../../../core/transition.ts';
import type { CustomerHistory } from '../../../event-log/explain-history.ts';
import type { NamedTeam } from '../../../queries/named-teams.ts';
import type { KnownCustomers } from '../../../queries/subscriptions.ts';

/** Why a team has a plan, or has none. */
export type Standing =
  /** It follows no customer. */
  | { readonly kind: 'unlinked' }
  /** No event of its customer has ever come. */
  | { readonly kind: 'unheard' }
  /** Events have come, and none that gives or takes a plan. */
  | { readonly kind: 'without effect'; readonly last: SubscriptionEvent }
  | ({ readonly kind: 'has plan' } & Followed)
  | ({ readonly kind: 'lost plan' } & Followed)
  /** It is not what its events make of it: somebody else has written it. */
  | { readonly kind: 'at odds'; readonly shouldBe: TeamPlan };

type Followed = {
  readonly followed: SubscriptionEvent;
  readonly since: Since;
};

/** Since when, in seconds since 1970; or at least since then. */
export type Since = { readonly seconds: number; readonly isExact: boolean };

/** What else is to be known of a team whose plan is asked for. */
export type Remark =
  /** Others would give a plan, and do not count. */
  | { readonly kind: 'others live'; readonly newest: SubscriptionEvent; readonly count: number }
  /** Nothing tells yet which of several events of one second came last. */
  | { readonly kind: 'uncertain'; readonly subscription: SubscriptionEvent }
  /** The newest event of all changes nothing. */
  | { readonly kind: 'newest without effect'; readonly newest: SubscriptionEvent }
  /** The plan's name is not known. */
  | { readonly kind: 'nameless'; readonly productId: string }
  /** Events of its customer came while no team had it, and are not applied yet. */
  | { readonly kind: 'parked'; readonly count: number };

type TeamFacts = {
  readonly team: NamedTeam;
  readonly known: KnownCustomers;
  readonly history: CustomerHistory;
  readonly planSelection: PlanSelection;
};

/** Says how a team stands, from what is stored. Pure. */
export function standingOf({ team, known, history, planSelection }: TeamFacts): Standing {
  if (team.customerId === null) return { kind: 'unlinked' };
  const customer = customerOf(team, known);
  const followed = followedEvent(customer, planSelection);
  const shouldBe = teamPlan(customer, planSelection, known.names);
  if (followed === null || shouldBe === null) {
    const last = history.entries.at(-1)?.subscription;
    return last === undefined ? { kind: 'unheard' } : { kind: 'without effect', last };
  }
  // A name may come later, or be the application's own.
  if (!isSamePlan({ ...shouldBe, planName: null }, { ...team.plan, planName: null })) {
    return { kind: 'at odds', shouldBe };
  }
  const kind = effectOf(followed.status) === 'grants' ? 'has plan' : 'lost plan';
  return { kind, followed, since: sinceWhen(team.plan, followed, history) };
}

/** What else is to be known. Pure. */
export function remarksOn({ team, known, history, planSelection }: TeamFacts): readonly Remark[] {
  const remarks: Remark[] = [];
  const customer = customerOf(team, known);
  const followed = followedEvent(customer, planSelection);
  const others: SubscriptionEvent[] = [];
  for (const { newest, isOrderAmbiguous } of customer.values()) {
    if (isOrderAmbiguous) remarks.push({ kind: 'uncertain', subscription: newest });
    if (newest !== followed && effectOf(newest.status) === 'grants') others.push(newest);
  }
  const newestOther = newestOf(others);
  if (newestOther !== null) {
    remarks.push({ kind: 'others live', newest: newestOther, count: others.length });
  }
  const newest = newestOf(history.entries.map(({ subscription }) => subscription));
  if (newest !== null && followed !== null && effectOf(newest.status) === 'none') {
    remarks.push({ kind: 'newest without effect', newest });
  }
  const { providerProductId: productId, planName } = team.plan;
  if (productId !== null && planName === null) remarks.push({ kind: 'nameless', productId });
  const parked = history.entries.filter(({ event }) => event.outcome === 'parked').length;
  if (parked > 0) remarks.push({ kind: 'parked', count: parked });
  return remarks;
}

function customerOf({ customerId }: NamedTeam, { customers }: KnownCustomers): Customer {
  return (customerId === null ? undefined : customers.get(customerId)) ?? UNKNOWN_CUSTOMER;
}

/** Events may have renewed what the team has: it has it since the one that first gave or took it. */
function sinceWhen(plan: TeamPlan, followed: SubscriptionEvent, history: CustomerHistory): Since {
  let seconds = followed.createdSeconds;
  for (const { event, subscription, plans } of history.entries.toReversed()) {
    if (event.outcome !== 'applied' || plans === null) continue;
    if (!isSameEntitlement(plans.after, plan)) break;
    seconds = subscription.createdSeconds;
    if (!isSameEntitlement(plans.before, plan)) return { seconds, isExact: true };
  }
  return { seconds, isExact: false };
}

function isSameEntitlement(one: TeamPlan | null, other: TeamPlan): boolean {
  return (
    one !== null &&
    one.providerSubscriptionId === other.providerSubscriptionId &&
    one.providerProductId === other.providerProductId
  );
}

function newestOf(events: readonly SubscriptionEvent[]): SubscriptionEvent | null {
  let newest: SubscriptionEvent | null = null;
  for (const event of events) {
    if (newest === null || event.createdSeconds >= newest.createdSeconds) newest = event;
  }
  return newest;
}
