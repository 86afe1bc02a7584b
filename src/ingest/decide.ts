import {
  type Customer,
  isSameState,
  type SubscriptionState,
  UNKNOWN_CUSTOMER,
} from '../core/customer.ts';
import { EventHistory } from '../core/event-history.ts';
import { follow, type Step } from '../core/follow.ts';
import type { LoggedEvent, LoggedOutcome } from '../core/logged-event.ts';
import { isOwnPlan, type PlanSelection, teamPlan } from '../core/plan-selection.ts';
import type { SubscriptionChange, SubscriptionEvent } from '../core/subscription-event.ts';
import { isSamePlan, NO_PLAN, type TeamPlan } from '../core/transition.ts';
import type { LinkedTeam } from '../queries/teams.ts';
import type { NamedEvent, Result } from './received-event.ts';

/** An event of the log. */
export type KnownEvent = Pick<LoggedEvent, 'key' | 'outcome'> & {
  /** `null` for one that was unreadable. */
  readonly change: SubscriptionChange | null;
};

/** The stored state around a batch of events, read while the teams are locked. */
export type KnownState = {
  readonly teams: readonly LinkedTeam[];
  readonly customers: ReadonlyMap<string, Customer>;
  /**
   * The same events and others of the same subscription and second, in the order of arrival; and
   * those of the neighbouring seconds, once they are needed.
   */
  readonly logged: readonly KnownEvent[];
  /** The names of products, by id. */
  readonly names: ReadonlyMap<string, string>;
};

/** The result of each event in a batch, and everything to write. */
export type Decision = {
  readonly results: readonly Result[];
  /** The outcomes to log, by key. A superseded snapshot has none. */
  readonly outcomes: ReadonlyMap<string, LoggedOutcome>;
  readonly subscriptions: readonly SubscriptionState[];
  readonly plans: ReadonlyMap<number, TeamPlan>;
  /** The newest events of subscriptions whose order depends on their neighbouring seconds. */
  readonly unsettled: readonly SubscriptionEvent[];
};

type Change = Extract<NamedEvent, { kind: 'readable' | 'snapshot' }>;

/** Decides on events in the order of their arrival. Pure. */
export function decide(
  events: readonly NamedEvent[],
  known: KnownState,
  planSelection: PlanSelection,
): Decision {
  const followers = teamIdsByCustomer(known.teams);
  const outcomes = new Map(known.logged.map(({ key, outcome }) => [key, outcome]));
  const history = new EventHistory(known.logged.flatMap(({ change }) => change ?? []));
  const customers = new Map(known.customers);
  const touched = new Set<string>();

  function decideOn(event: Change): Step['verdict'] {
    const { customerId } = event.subscription;
    const customer = customers.get(customerId) ?? UNKNOWN_CUSTOMER;
    const step = follow(customer, event, history, planSelection);
    customers.set(customerId, step.customer);
    if (step.verdict === 'applied') touched.add(customerId);
    return step.verdict;
  }

  /** Whether another event of its second has arrived since the snapshot was requested. */
  function isSuperseded({ subscription, observedKeys }: Extract<Change, { kind: 'snapshot' }>) {
    if (!followers.has(subscription.customerId)) return true;
    if (observedKeys === null) return false;
    const { customerId, subscriptionId, createdSeconds } = subscription;
    const state = customers.get(customerId)?.get(subscriptionId);
    const isAskedFor =
      state?.newest.createdSeconds === createdSeconds && state.order === 'ambiguous';
    const { events } = history.secondOf(subscription);
    return !isAskedFor || events.some(({ key }) => !observedKeys.has(key));
  }

  const results = events.map((event): Result => {
    const earlier = outcomes.get(event.key);
    if (event.kind === 'unreadable') {
      outcomes.set(event.key, 'unreadable');
      return { outcome: earlier === undefined ? 'unreadable' : 'duplicate', teamIds: [] };
    }
    const teamIds = followers.get(event.subscription.customerId) ?? [];
    if (event.kind === 'snapshot' && isSuperseded(event)) return { outcome: 'stale', teamIds };
    // A parked event has changed nothing yet, so it is decided when it arrives again.
    if (earlier !== undefined && earlier !== 'parked') return { outcome: 'duplicate', teamIds };
    history.add(event);
    const outcome = teamIds.length === 0 ? 'parked' : decideOn(event);
    outcomes.set(event.key, outcome);
    return { outcome, teamIds };
  });

  /** The end of an old subscription says nothing about a plan that the application wrote itself. */
  function isKept(team: LinkedTeam, plan: TeamPlan): boolean {
    const { providerSubscriptionId: rowId } = team.plan;
    const isEnd = plan.providerSubscriptionId === null;
    const isOfRow = customers.get(team.customerId)?.has(rowId) ?? false;
    const before = known.customers.get(team.customerId) ?? UNKNOWN_CUSTOMER;
    return isEnd && rowId !== null && !isOfRow && !isOwnPlan(team.plan, before);
  }

  const kept: LinkedTeam[] = [];
  const plans = new Map<number, TeamPlan>();
  // A row with empty plan columns was linked or created after its customer's events.
  const touchedTeams = known.teams.filter(
    ({ customerId, plan }) => touched.has(customerId) || isSamePlan(plan, NO_PLAN),
  );
  const names = touchedTeams.length === 0 ? known.names : withNamesOf(events, known.names);
  for (const team of touchedTeams) {
    const plan = teamPlan(customers.get(team.customerId) ?? UNKNOWN_CUSTOMER, planSelection, names);
    if (plan === null || isSamePlan(plan, team.plan)) continue;
    if (planSelection === 'best' && isKept(team, plan)) kept.push(team);
    else plans.set(team.id, plan);
  }
  const subscriptions = changed(customers, known.customers);
  const unsettled = unsettledOf(events, [known.customers, customers]);
  return {
    results: kept.length === 0 ? results : results.map((result) => withKept(result, kept)),
    outcomes,
    plans,
    subscriptions,
    unsettled,
  };
}

function withKept(result: Result, kept: readonly LinkedTeam[]): Result {
  const keptTeamIds = kept.map(({ id }) => id).filter((id) => result.teamIds.includes(id));
  return keptTeamIds.length === 0 ? result : { ...result, keptTeamIds };
}

/** The newest events whose order is not known from their own second, before or after the batch. */
function unsettledOf(
  events: readonly NamedEvent[],
  moments: readonly KnownState['customers'][],
): SubscriptionEvent[] {
  const unsettled = new Set<SubscriptionEvent>();
  for (const event of events) {
    if (event.kind === 'unreadable') continue;
    const { customerId, subscriptionId } = event.subscription;
    for (const customers of moments) {
      const state = customers.get(customerId)?.get(subscriptionId);
      if (state !== undefined && state.order !== 'known') unsettled.add(state.newest);
    }
  }
  return [...unsettled];
}

/** The known names of products and those found for the events. */
function withNamesOf(
  events: readonly NamedEvent[],
  known: KnownState['names'],
): KnownState['names'] {
  const names = new Map(known);
  for (const event of events) {
    if (event.kind === 'unreadable' || event.productName === null) continue;
    const { productId } = event.subscription;
    if (productId !== null) names.set(productId, event.productName);
  }
  return names;
}

function teamIdsByCustomer(teams: readonly LinkedTeam[]): Map<string, number[]> {
  const followers = new Map<string, number[]>();
  for (const { id, customerId } of teams) {
    followers.set(customerId, [...(followers.get(customerId) ?? []), id]);
  }
  return followers;
}

/** The states that have changed. */
function changed(
  customers: ReadonlyMap<string, Customer>,
  before: KnownState['customers'],
): SubscriptionState[] {
  const states: SubscriptionState[] = [];
  for (const [customerId, customer] of customers) {
    const known = before.get(customerId) ?? UNKNOWN_CUSTOMER;
    if (customer === known) continue;
    for (const [subscriptionId, state] of customer) {
      if (!isSameState(state, known.get(subscriptionId))) states.push(state);
    }
  }
  return states;
}
