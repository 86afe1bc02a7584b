// Decides, in memory alone, what a batch changes. process-batch.ts calls it between what it reads and what it writes;
// the simulation calls it without a database.

import type { ApplicationId } from '../core/application.ts';
import { EventHistory } from '../core/event-history.ts';
import {
  type LatestState,
  type LatestStates,
  latestStateAfter,
  NO_LATEST_STATES,
} from '../core/latest-state.ts';
import { decideEvent, type EventDecision } from '../core/ordering-rule.ts';
import {
  changedDecidingEvents,
  type DecidingEvents,
  NO_DECIDING_EVENTS,
  type PlanSelection,
  planWriterOf,
  teamPlan,
} from '../core/plan-selection.ts';
import { isCharged } from '../core/status.ts';
import {
  isSameState,
  type LoggedEvent,
  type LoggedOutcome,
  type ParsedEvent,
  type SubscriptionState,
} from '../core/subscription-event.ts';
import type { DecidingEvent } from '../core/tie-group.ts';
import { isSamePlan, NO_PLAN, type TeamPlan } from '../core/transition.ts';
import type { LinkedTeam } from '../postgres/statements/teams.ts';
import type { SnapshotEvent } from '../stripe/subscription-snapshot.ts';
import type { IngestResult, ReceivedEvent } from './received-event.ts';

/** An event of the log, and what its body reports. */
export type ParsedRow = Pick<LoggedEvent, 'key' | 'outcome'> & {
  /** `null` for an unreadable event. */
  readonly parsed: ParsedEvent | null;
};

/** The stored state around a batch of events, read while the teams are locked. */
export type StoredState = {
  readonly teams: readonly LinkedTeam[];
  /** By customer, like the latest states. */
  readonly decidingEvents: ReadonlyMap<string, DecidingEvents>;
  readonly latestStates: ReadonlyMap<string, LatestStates>;
  /**
   * The batch's events that are logged already, and others of their tie groups, in the order of arrival; also
   * those of other seconds, once they are needed.
   */
  readonly logged: readonly ParsedRow[];
  /** The names of products, by id. */
  readonly names: ReadonlyMap<string, string>;
};

/** The result of each event in a batch, and everything to write. */
export type BatchDecision = {
  readonly results: readonly IngestResult[];
  /** The outcomes by key, also of what was logged before. An outdated snapshot has none, so it is not logged. */
  readonly outcomes: ReadonlyMap<string, LoggedOutcome>;
  /** Only those that have changed, like the latest states. */
  readonly decidingEvents: readonly DecidingEvent[];
  readonly latestStates: readonly LatestState[];
  /** The customers with subscriptions that Stripe charges now and did not before, or the reverse. */
  readonly possiblyDoubleBilled: readonly string[];
  readonly plans: ReadonlyMap<ApplicationId, TeamPlan>;
  /**
   * The events whose tie group has another last event, or whose subscription's latest state depends on other seconds. If
   * those were not in `logged`, the decision is to be made again with them.
   */
  readonly needOtherSeconds: readonly SubscriptionState[];
};

/** Decides on events in the order of their arrival. Pure. */
export function decide(
  events: readonly ReceivedEvent[],
  stored: StoredState,
  planSelection: PlanSelection,
): BatchDecision {
  const teamIdsByCustomer = groupTeamIds(stored.teams);
  const outcomes = new Map(stored.logged.map(({ key, outcome }) => [key, outcome]));
  const logged = new Map(stored.logged.map(({ key, parsed }) => [key, parsed]));
  const history = new EventHistory(stored.logged.flatMap(({ parsed }) => parsed ?? []));
  const decidingEvents = new Map(stored.decidingEvents);
  const latestStates = new Map(stored.latestStates);
  const stateNeedsOtherSeconds: SubscriptionState[] = [];
  const appliedCustomerIds = new Set<string>();

  function decideOn(event: ParsedEvent): EventDecision['outcome'] {
    const { customerId } = event.subscription;
    const ofCustomer = decidingEvents.get(customerId) ?? NO_DECIDING_EVENTS;
    const decision = decideEvent(ofCustomer, event, history, planSelection);
    decidingEvents.set(customerId, decision.decidingEvents);
    if (decision.outcome === 'applied') appliedCustomerIds.add(customerId);
    updateLatestState(event);
    return decision.outcome;
  }

  function updateLatestState(event: ParsedEvent): void {
    const { customerId, subscriptionId } = event.subscription;
    const states = latestStates.get(customerId) ?? NO_LATEST_STATES;
    const knownState = states.get(subscriptionId);
    const deciding = decidingEvents.get(customerId)?.get(subscriptionId)?.subscription ?? null;
    const { state, needsOtherSeconds } = latestStateAfter(knownState, event, { history, deciding });
    if (needsOtherSeconds) stateNeedsOtherSeconds.push(event.subscription, state.subscription);
    if (state === knownState) return;
    latestStates.set(customerId, new Map(states).set(subscriptionId, state));
  }

  /**
   * Whether a snapshot no longer decides the order of its tie group: no team is linked, the order has become known, or
   * an event of the group has arrived that the snapshot had not seen.
   */
  function isOutdated({ subscription, seenKeys }: SnapshotEvent) {
    if (!teamIdsByCustomer.has(subscription.customerId)) return true;
    if (seenKeys === null) return false;
    const { customerId, subscriptionId, createdSeconds } = subscription;
    const deciding = decidingEvents.get(customerId)?.get(subscriptionId);
    const isStillAmbiguous =
      deciding?.subscription.createdSeconds === createdSeconds && deciding.order === 'ambiguous';
    const { events } = history.tieGroupOf(subscription);
    return !isStillAmbiguous || events.some(({ key }) => !seenKeys.has(key));
  }

  const results = events.map((event): IngestResult => {
    const knownOutcome = outcomes.get(event.key);
    if (event.kind === 'unreadable') {
      outcomes.set(event.key, 'unreadable');
      return { outcome: knownOutcome === undefined ? 'unreadable' : 'duplicate', teamIds: [] };
    }
    const teamIds = teamIdsByCustomer.get(event.subscription.customerId) ?? [];
    if (event.kind === 'snapshot' && isOutdated(event)) return { outcome: 'stale', teamIds };
    // A parked event has changed nothing yet, so it is decided now.
    if (knownOutcome !== undefined && knownOutcome !== 'parked') {
      return { outcome: 'duplicate', teamIds };
    }
    // This delivery can be in another API version, but what is logged stays, and must decide the same in a rebuild.
    const asLogged = logged.get(event.key) ?? event;
    history.add(asLogged);
    const outcome = teamIds.length === 0 ? 'parked' : decideOn(asLogged);
    outcomes.set(event.key, outcome);
    return { outcome, teamIds };
  });

  // A row with empty plan columns can have been linked or created after its customer's events.
  const affectedTeams = stored.teams.filter(
    ({ customerId, plan }) => appliedCustomerIds.has(customerId) || isSamePlan(plan, NO_PLAN),
  );
  const names = affectedTeams.length === 0 ? stored.names : withNamesOf(events, stored.names);
  const { plans, keptTeamIds } = newPlans(affectedTeams, { decidingEvents, names }, planSelection);
  const withKeptTeams = (result: IngestResult) => {
    const keptOfEvent = result.teamIds.filter((id) => keptTeamIds.has(id));
    return keptOfEvent.length === 0 ? result : { ...result, keptTeamIds: keptOfEvent };
  };
  return {
    results: keptTeamIds.size === 0 ? results : results.map(withKeptTeams),
    outcomes,
    plans,
    decidingEvents: [...decidingEvents].flatMap(([customerId, ofCustomer]) =>
      changedDecidingEvents(
        ofCustomer,
        stored.decidingEvents.get(customerId) ?? NO_DECIDING_EVENTS,
      ),
    ),
    latestStates: [...latestStates.values()].flatMap((states) =>
      [...states.values()].filter(({ object }) => object !== null),
    ),
    possiblyDoubleBilled: [...latestStates].flatMap(([customerId, states]) =>
      hasOtherCharges(states, stored.latestStates.get(customerId)) ? customerId : [],
    ),
    needOtherSeconds: [
      ...withOtherLast(events, stored.decidingEvents, decidingEvents),
      ...stateNeedsOtherSeconds,
    ],
  };
}

/** Whether Stripe charges for other subscriptions of a customer than before. */
function hasOtherCharges(states: LatestStates, stored = NO_LATEST_STATES): boolean {
  if (states === stored || states.size < 2) return false;
  const isChargedIn = (customerStates: LatestStates, id: string | null) =>
    isCharged(customerStates.get(id)?.subscription.status ?? '');
  return [...states.keys()].some((id) => isChargedIn(states, id) !== isChargedIn(stored, id));
}

/** The plans of these teams that differ from their rows, and the teams whose rows are kept as the application wrote them. */
function newPlans(
  teams: readonly LinkedTeam[],
  { decidingEvents, names }: Pick<StoredState, 'decidingEvents' | 'names'>,
  planSelection: PlanSelection,
) {
  const plans = new Map<ApplicationId, TeamPlan>();
  const keptTeamIds = new Set<ApplicationId>();
  for (const team of teams) {
    const ofCustomer = decidingEvents.get(team.customerId) ?? NO_DECIDING_EVENTS;
    const plan = teamPlan(ofCustomer, planSelection, names);
    if (plan === null || isSamePlan(plan, team.plan)) continue;
    // The end of another subscription says nothing about one that only the application knows.
    const isEnd = planSelection === 'best' && plan.providerSubscriptionId === null;
    if (isEnd && planWriterOf(team.plan, ofCustomer) === 'unknown subscription')
      keptTeamIds.add(team.id);
    else plans.set(team.id, plan);
  }
  return { plans, keptTeamIds };
}

/**
 * The deciding events of tie groups that now have another last event. An event without `created` can have arrived
 * before that one, and only the statement that reads whole seconds finds it, because its key does not show its second.
 */
function withOtherLast(
  events: readonly ReceivedEvent[],
  stored: StoredState['decidingEvents'],
  decided: StoredState['decidingEvents'],
): SubscriptionState[] {
  const changed = new Set<SubscriptionState>();
  for (const event of events) {
    if (event.kind === 'unreadable') continue;
    const { customerId, subscriptionId } = event.subscription;
    const storedDeciding = stored.get(customerId)?.get(subscriptionId);
    const newDeciding = decided.get(customerId)?.get(subscriptionId);
    const hasOtherLast =
      storedDeciding?.subscription.createdSeconds === newDeciding?.subscription.createdSeconds &&
      !isSameState(storedDeciding?.subscription ?? null, newDeciding?.subscription ?? null);
    if (newDeciding !== undefined && hasOtherLast) changed.add(newDeciding.subscription);
  }
  return [...changed];
}

/** The stored names of products, and those that were looked up for the events. */
function withNamesOf(
  events: readonly ReceivedEvent[],
  stored: StoredState['names'],
): StoredState['names'] {
  const names = new Map(stored);
  for (const event of events) {
    if (event.kind === 'unreadable' || !event.productName) continue;
    const { productId } = event.subscription;
    if (productId !== null) names.set(productId, event.productName);
  }
  return names;
}

function groupTeamIds(teams: readonly LinkedTeam[]): Map<string, ApplicationId[]> {
  const teamIdsByCustomer = new Map<string, ApplicationId[]>();
  for (const { id, customerId } of teams) {
    teamIdsByCustomer.set(customerId, [...(teamIdsByCustomer.get(customerId) ?? []), id]);
  }
  return teamIdsByCustomer;
}
