import type {
  CustomerHistory,
  NamedTeam,
  PlanSelection,
  SubscriptionEvent,
  TeamPlan,
} from 'instep/operate';
import {
  type Customer,
  decidingEvent,
  effectOf,
  isSamePlan,
  NO_SUBSCRIPTIONS,
  type StoredCustomers,
  teamPlan,
} from 'instep/operate/inside';

/** Everything that is stored about a team. */
export type TeamRecord = {
  readonly team: NamedTeam;
  readonly known: StoredCustomers;
  readonly history: CustomerHistory;
  readonly planSelection: PlanSelection;
  /** When an operator linked the team to its customer; `null`: no operator did. */
  readonly linkedMs: number | null;
};

/** Why a team has a plan, or has none. */
export type TeamStatus =
  /** The team has no customer. */
  | { readonly kind: 'unlinked' }
  /** No event of its customer has been received. */
  | { readonly kind: 'no events' }
  /** None of the events had an effect. */
  | { readonly kind: 'no effect'; readonly last: SubscriptionEvent }
  | ({ readonly kind: 'has plan' } & Followed)
  | ({ readonly kind: 'lost plan' } & Followed)
  /** The row differs from its events: a person or the application has written it. */
  | { readonly kind: 'changed by hand'; readonly shouldBe: TeamPlan };

type Followed = { readonly followed: SubscriptionEvent; readonly since: Since };

/** Since when the customer has had its plan, or none, by Stripe's clock. */
export type Since = {
  /** In seconds since 1970. If it is not exact, the change can be older. */
  readonly seconds: number;
  readonly isExact: boolean;
  /** Why the team followed much later; `null`: it did not, or the reason is unknown. */
  readonly delay: { readonly kind: 'linked' | 'received'; readonly untilMs: number } | null;
};

/** An additional explanation of a team's plan. */
export type TeamNote =
  /** Other subscriptions would grant a plan. */
  | { readonly kind: 'other live'; readonly newest: SubscriptionEvent; readonly count: number }
  /** The order of events in one second is not known yet. */
  | { readonly kind: 'unknown order'; readonly subscription: SubscriptionEvent }
  /** The newest event of all has no effect. */
  | { readonly kind: 'newest without effect'; readonly newest: SubscriptionEvent }
  | { readonly kind: 'unnamed product'; readonly productId: string }
  /** Events arrived before the team had this customer, and are not applied yet. */
  | { readonly kind: 'parked'; readonly count: number };

/** Derives a team's status from what is stored. Pure. */
export function teamStatusOf(record: TeamRecord) {
  const { team, known } = record;
  const customer = known.customers.get(team.customerId ?? '') ?? NO_SUBSCRIPTIONS;
  const followed = decidingEvent(customer, record.planSelection);
  return {
    status: statusOf(record, customer, followed),
    notes: [...notesOn(record, customer, followed)],
  };
}

function statusOf(
  { team, known, history, planSelection, linkedMs }: TeamRecord,
  customer: Customer,
  followed: SubscriptionEvent | null,
): TeamStatus {
  if (team.customerId === null) return { kind: 'unlinked' };
  const shouldBe = teamPlan(customer, planSelection, known.names);
  if (followed === null || shouldBe === null) {
    const last = history.entries.at(-1)?.subscription;
    return last === undefined ? { kind: 'no events' } : { kind: 'no effect', last };
  }
  // The name can arrive later, or be the application's own.
  if (!isSamePlan({ ...shouldBe, planName: null }, { ...team.plan, planName: null })) {
    return { kind: 'changed by hand', shouldBe };
  }
  const kind = effectOf(followed.status) === 'grants' ? 'has plan' : 'lost plan';
  return { kind, followed, since: sinceOf(team.plan, followed, history, linkedMs) };
}

function* notesOn(
  { team, history }: TeamRecord,
  customer: Customer,
  followed: SubscriptionEvent | null,
): Generator<TeamNote> {
  const others: SubscriptionEvent[] = [];
  for (const { deciding, order } of customer.values()) {
    if (order === 'ambiguous') yield { kind: 'unknown order', subscription: deciding };
    if (deciding !== followed && effectOf(deciding.status) === 'grants') others.push(deciding);
  }
  const newestOther = newestOf(others);
  if (newestOther !== null) {
    yield { kind: 'other live', newest: newestOther, count: others.length };
  }
  const newest = newestOf(history.entries.map(({ subscription }) => subscription));
  if (newest !== null && followed !== null && effectOf(newest.status) === 'none') {
    yield { kind: 'newest without effect', newest };
  }
  const { providerProductId: productId, planName } = team.plan;
  if (productId !== null && planName === null) yield { kind: 'unnamed product', productId };
  const parked = history.entries.filter(({ event }) => event.outcome === 'parked').length;
  if (parked > 0) yield { kind: 'parked', count: parked };
}

/** Later events can have renewed the plan, so it dates from the first event that gave or cleared it. */
function sinceOf(
  plan: TeamPlan,
  followed: SubscriptionEvent,
  history: CustomerHistory,
  linkedMs: number | null,
): Since {
  let seconds = followed.createdSeconds;
  let receivedMs = seconds * 1_000;
  let isExact = false;
  for (const { event, subscription, plans } of history.entries.toReversed()) {
    if (event.outcome !== 'applied' || plans === null) continue;
    if (isExact || !isSameEntitlement(plans.after, plan)) break;
    seconds = subscription.createdSeconds;
    receivedMs = event.receivedAtMs;
    isExact = !isSameEntitlement(plans.before, plan);
  }
  return { seconds, isExact, delay: delayOf(seconds, receivedMs, linkedMs) };
}

/** Shorter delays are as usual. */
const LATE_MS = 60_000;

/** An event that arrives before the link is parked until then. */
function delayOf(seconds: number, receivedMs: number, linkedMs: number | null): Since['delay'] {
  if (linkedMs !== null && linkedMs > receivedMs) return { kind: 'linked', untilMs: linkedMs };
  const isLate = receivedMs - seconds * 1_000 > LATE_MS;
  return isLate ? { kind: 'received', untilMs: receivedMs } : null;
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
