// Decides, in memory alone, what a batch changes: between the read and the write. Nothing here knows a database.

import { type AccessFacts, accessFacts } from '../rule/access-facts.ts';
import type { CustomerState } from '../rule/customer-state.ts';
import { fold } from '../rule/fold.ts';
import { KnownEvents } from '../rule/known-events.ts';
import { isPlanOf, NO_PLAN } from '../rule/plan.ts';
import type { ActingOperator, ChangeCause } from '../rule/plan-change.ts';
import { type Plan, type PlanInRow, partOf } from '../rule/plan-fields.ts';
import { type PlanSelection, type ProductNames, teamPlan } from '../rule/plan-selection.ts';
import { planWriterOf } from '../rule/plan-writer.ts';
import { isOutdated } from '../rule/snapshot.ts';
import {
  deliveriesOf,
  type IngestResult,
  type LogEvent,
  type LoggedOutcome,
  type ReadableLogEvent,
} from './log-event.ts';
import type { StoredCustomer, StoredTeam, Waiting } from './read-customers.ts';
import type { LoggedEvents } from './read-events.ts';

export type DecideOptions = SettleOptions & {
  readonly planSelection: PlanSelection;
  readonly names: ProductNames;
};

/** How a customer is settled. By default, its teams get their plan because they were linked, and no operator does it. */
export type SettleOptions = {
  readonly operator?: ActingOperator | null;
  readonly cause?: ChangeCause;
  /** The names of products that are known. */
  readonly names?: ProductNames;
  /** A state to store in place of the one at this version. */
  readonly rebuilt?: Pick<StoredCustomer, 'version' | 'state'>;
  /** Whether a row that has a plan gets the customer's, or none if it has none, in place of this one. */
  readonly isReplaced?: (plan: PlanInRow, state: CustomerState) => boolean;
};

/** What is written for a customer, if the version is still the one that was read. */
export type CustomerDecision = {
  readonly customer: StoredCustomer;
  readonly state: CustomerState;
  /** The plan that its teams should have; `null`: none is known. */
  readonly plan: Plan | null;
  readonly access: AccessFacts | null;
  readonly waiting: Waiting | null;
  readonly teams: readonly TeamDecision[];
  /** The last event that was applied, because of which teams change; `null`: they change because they were linked. */
  readonly changedBy: ReadableLogEvent | null;
  readonly events: readonly EventDecision[];
  readonly options: DecideOptions;
};

/** `plan`: what the team gets, which the write takes from the customer's row; `null`: its row stays as it is. */
export type TeamDecision = {
  readonly team: StoredTeam;
  readonly plan: PlanInRow | null;
  /** Whether its row lacks nothing but the name of the plan. */
  readonly isNameless: boolean;
};

/** An event for the log, once, however often it is in the batch. Of one that is known, only deliveries are counted. */
export type EventDecision = {
  readonly event: LogEvent;
  /** Its key in the log: that of the first delivery, if this one is in another API version. */
  readonly key: string;
  readonly outcome: LoggedOutcome;
  /** For a parked event, its outcome with a team. */
  readonly parkedOutcome: LoggedOutcome | null;
  readonly deliveries: number;
};

type DecidedOutcomes = Pick<IngestResult, 'outcome' | 'loggedOutcome'>;

const STALE: DecidedOutcomes = { outcome: 'stale', loggedOutcome: 'stale' };

/**
 * Decides on a customer's events, in the order of their arrival; also on none, to give its teams their plan. Those after the
 * last result are left: the state has just dropped a subscription whose earlier events were not read.
 */
export function decide(
  customer: StoredCustomer,
  events: readonly ReadableLogEvent[],
  { known: loggedEvents, outcomes }: LoggedEvents,
  options: DecideOptions,
): { decision: CustomerDecision; results: readonly IngestResult[] } {
  const hasTeam = customer.teams.length > 0;
  const known = new KnownEvents(loggedEvents.all());
  const decisions = new Map<string, EventDecision>();
  let { state } = customer;
  let changedBy: ReadableLogEvent | null = null;
  let waiting = hasTeam ? null : customer.waiting;

  function decideOn(event: ReadableLogEvent): DecidedOutcomes {
    const isUseless = event.kind === 'snapshot' && !hasTeam;
    if (isUseless || isOutdated(state, event, known)) return STALE;
    const { state: after, outcome } = fold(state, event, known, options.planSelection);
    if (outcome === 'duplicate') return repeat(event);
    state = after;
    known.add(event);
    const isApplied = outcome === 'applied';
    if (!hasTeam) waiting = isApplied ? 'plan' : (waiting ?? 'events');
    else if (isApplied) changedBy = event;
    const loggedOutcome = hasTeam ? outcome : 'parked';
    decisions.set(event.key, {
      ...{ event, key: event.key, deliveries: deliveriesOf(event) },
      ...{ outcome: loggedOutcome, parkedOutcome: hasTeam ? null : outcome },
    });
    return { outcome: loggedOutcome, loggedOutcome };
  }

  /** An event that is known changes nothing, unless it waited for a team. */
  function repeat(event: ReadableLogEvent): DecidedOutcomes {
    const key = known.find(event)?.key ?? event.key;
    const earlier = decisions.get(key);
    const { outcome = 'stale', parkedOutcome = null } = earlier ?? outcomes.get(key) ?? {};
    const loggedOutcome = (hasTeam ? parkedOutcome : null) ?? outcome;
    decisions.set(key, {
      ...{ event: earlier?.event ?? event, key, outcome: loggedOutcome },
      parkedOutcome: hasTeam ? null : parkedOutcome,
      deliveries: (earlier?.deliveries ?? 0) + deliveriesOf(event),
    });
    return { outcome: outcome === 'parked' ? loggedOutcome : 'duplicate', loggedOutcome };
  }

  const decided: DecidedOutcomes[] = [];
  for (const event of events) {
    const { subscriptionId } = event.subscription;
    const wasKnown = customer.state.subscriptions.has(subscriptionId);
    if (wasKnown && !state.subscriptions.has(subscriptionId)) break;
    decided.push(decideOn(event));
  }
  const plan = teamPlan(state, options.planSelection, options.names);
  const isApplied = changedBy !== null || (hasTeam && customer.waiting === 'plan');
  const projected = { state, plan, isApplied };
  const teams = customer.teams.map((team) => decideTeam(team, projected, options));
  const teamIds = customer.teams.map(({ id }) => id);
  const keptTeamIds = teams.flatMap(({ team, isKept }) => (isKept ? team.id : []));
  const access = accessFacts(state, options.planSelection);
  return {
    results: decided.map((outcomes) => ({ ...outcomes, teamIds, keptTeamIds })),
    decision: {
      ...{ customer, state, plan, access, waiting, teams, changedBy, options },
      events: [...decisions.values()],
    },
  };
}

/** Decides on the events that can't be read: each of them is stored once. */
export function decideUnreadable(events: readonly LogEvent[]): readonly EventDecision[] {
  const decisions = new Map<string, EventDecision>();
  for (const event of events) {
    if (event.kind !== 'unreadable') continue;
    const { key } = event;
    const deliveries = (decisions.get(key)?.deliveries ?? 0) + deliveriesOf(event);
    decisions.set(key, { event, key, deliveries, outcome: 'unreadable', parkedOutcome: null });
  }
  return [...decisions.values()];
}

/** The plan that a team gets. A row with empty plan columns can have been linked or created after the customer's events. */
function decideTeam(
  team: StoredTeam,
  { state, plan, isApplied }: Pick<CustomerDecision, 'state' | 'plan'> & { isApplied: boolean },
  { planSelection, isReplaced = () => false }: DecideOptions,
): TeamDecision & { isKept: boolean } {
  // The write knows names that no event had, so whatever stores a customer names its teams.
  const isNameless = plan !== null && lacksOnlyName(team.plan, plan);
  const unchanged = { team, plan: null, isNameless, isKept: false };
  const isForced = isReplaced(team.plan, state);
  const shouldBe = isForced ? (plan ?? NO_PLAN) : plan;
  const isAffected = isForced || isApplied || isNameless || isPlanOf(team.plan, NO_PLAN);
  if (shouldBe === null || !isAffected) return unchanged;
  if (isPlanOf(team.plan, shouldBe) && !isNameless) return unchanged;
  // The end of another subscription says nothing about one that only the application knows.
  const isEnd = planSelection === 'best' && shouldBe.providerSubscriptionId === null;
  if (!isForced && isEnd && planWriterOf(team.plan, state) === 'unknown subscription') {
    return { ...unchanged, isKept: true };
  }
  return { ...unchanged, plan: partOf(shouldBe, team.plan) };
}

function lacksOnlyName(row: PlanInRow, plan: Plan): boolean {
  return (
    row.planName === null &&
    plan.providerProductId !== null &&
    isPlanOf(row, { ...plan, planName: null })
  );
}
