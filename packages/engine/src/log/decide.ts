// Decides, in memory alone, what a batch changes: between the read and the write. Nothing here knows a database.

import { type AccessFacts, type AccessRules, accessFacts } from '../rule/access-facts.ts';
import type { CustomerState } from '../rule/customer-state.ts';
import type { Outcome } from '../rule/event.ts';
import { fold } from '../rule/fold.ts';
import { KnownEvents } from '../rule/known-events.ts';
import { isSamePlan, NO_PLAN } from '../rule/plan.ts';
import { type Plan, type PlanFieldName, planWith } from '../rule/plan-fields.ts';
import { type ProductNames, teamPlan } from '../rule/plan-selection.ts';
import { planWriterOf } from '../rule/plan-writer.ts';
import { isOutdated } from '../rule/snapshot.ts';
import type { StoredCustomer, StoredTeam, Waiting } from './read-customers.ts';
import type { LoggedEvents } from './read-events.ts';
import {
  type ActingOperator,
  type ChangeCause,
  deliveriesOf,
  type IngestResult,
  type LoggedOutcome,
  type ReadableEvent,
  type ReceivedEvent,
} from './received-event.ts';

export type DecideOptions = AccessRules & {
  /** The fields of a plan that the application's table has columns for. */
  readonly fields: ReadonlySet<PlanFieldName>;
  readonly names: ProductNames;
  /** Who settles the customer; by default, no operator does. */
  readonly operator?: ActingOperator | null;
};

/** What is written for a customer, if the version is still the one that was read. */
export type CustomerDecision = {
  readonly customer: StoredCustomer;
  readonly state: CustomerState;
  /** The plan that its teams should have; `null`: none is known. */
  readonly plan: Plan | null;
  readonly access: AccessFacts | null;
  /** The rules that `access` follows. */
  readonly accessRules: AccessRules;
  readonly waiting: Waiting | null;
  readonly teams: readonly TeamDecision[];
  readonly changedBy: ChangedBy;
  readonly events: readonly EventDecision[];
};

/** `plan`: what the team gets; `null`: its row stays as it is. */
export type TeamDecision = { readonly team: StoredTeam; readonly plan: Plan | null };

/** Why the plans of a customer's teams change: because of its last applied event, or because they were linked. */
export type ChangedBy = {
  readonly cause: ChangeCause;
  readonly eventId: string | null;
  readonly eventCreatedSeconds: number | null;
  readonly operator: ActingOperator | null;
};

/** An event for the log, once, however often it is in the batch. */
export type EventDecision = {
  readonly event: ReceivedEvent;
  /** Its key in the log: that of the first delivery, if this one is in another API version. */
  readonly key: string;
  readonly outcome: LoggedOutcome;
  /** For a parked event, its outcome with a team. */
  readonly withTeam: LoggedOutcome | null;
  /** Whether it is in the log already, so that only deliveries are counted. */
  readonly isKnown: boolean;
  readonly deliveries: number;
};

type DecidedOutcomes = Pick<IngestResult, 'outcome' | 'loggedOutcome'>;

const STALE: DecidedOutcomes = { outcome: 'stale', loggedOutcome: 'stale' };

const LINKED = { cause: 'link', eventId: null, eventCreatedSeconds: null } as const;

/**
 * Decides on a customer's events, in the order of their arrival; also on none, to give its teams their plan. Those after the
 * last result are left: the state has just dropped a subscription whose earlier events were not read.
 */
export function decide(
  customer: StoredCustomer,
  events: readonly ReadableEvent[],
  { known: loggedEvents, outcomes }: LoggedEvents,
  options: DecideOptions,
): { decision: CustomerDecision; results: readonly IngestResult[] } {
  const hasTeam = customer.teams.length > 0;
  const known = new KnownEvents(loggedEvents.all());
  const decisions = new Map<string, EventDecision>();
  let { state } = customer;
  let changedBy: ChangedBy = { ...LINKED, operator: options.operator ?? null };
  let waiting = hasTeam ? null : customer.waiting;
  let isApplied = hasTeam && customer.waiting === 'plan';

  function decideOn(event: ReadableEvent): DecidedOutcomes {
    const isUseless = event.kind === 'snapshot' && !hasTeam;
    if (isUseless || isOutdated(state, event, known)) return STALE;
    const found = known.find(event);
    if (found !== undefined) return repeat(event, found.key);
    const folded = fold(state, event, known, options.planSelection);
    const withTeam = asLogged(folded.outcome);
    state = folded.state;
    known.add(event);
    const outcome = hasTeam ? withTeam : 'parked';
    decisions.set(event.key, {
      ...{ event, key: event.key, isKnown: false, deliveries: deliveriesOf(event) },
      ...{ outcome, withTeam: hasTeam ? null : withTeam },
    });
    const decidesPlan = withTeam === 'applied';
    if (!hasTeam) waiting = decidesPlan ? 'plan' : (waiting ?? 'events');
    else if (decidesPlan) {
      isApplied = true;
      changedBy = changedByEvent(event);
    }
    return { outcome, loggedOutcome: outcome };
  }

  /** An event that is known changes nothing, unless it waited for a team. */
  function repeat(event: ReadableEvent, key: string): DecidedOutcomes {
    const earlier = decisions.get(key);
    const { outcome = 'stale', withTeam = null } = earlier ?? outcomes.get(key) ?? {};
    const isParked = outcome === 'parked';
    const loggedOutcome = isParked && hasTeam ? asLogged(withTeam) : outcome;
    decisions.set(key, {
      ...(earlier ?? { event, key, isKnown: true, withTeam: hasTeam ? null : withTeam }),
      outcome: loggedOutcome,
      deliveries: (earlier?.deliveries ?? 0) + deliveriesOf(event),
    });
    return { outcome: isParked ? loggedOutcome : 'duplicate', loggedOutcome };
  }

  const decided: DecidedOutcomes[] = [];
  for (const event of events) {
    const { subscriptionId } = event.subscription;
    const wasKnown = customer.state.subscriptions.has(subscriptionId);
    if (wasKnown && !state.subscriptions.has(subscriptionId)) break;
    decided.push(decideOn(event));
  }
  const plan = teamPlan(state, options.planSelection, options.names);
  const teams = customer.teams.map((team) => decideTeam(team, { state, plan, isApplied }, options));
  const teamIds = customer.teams.map(({ id }) => id);
  const keptTeamIds = teams.flatMap(({ team, isKept }) => (isKept ? team.id : []));
  const access = accessFacts(state, options);
  return {
    results: decided.map((outcomes) => ({ ...outcomes, teamIds, keptTeamIds })),
    decision: {
      ...{ customer, state, plan, access, waiting, teams, changedBy },
      accessRules: options,
      events: [...decisions.values()],
    },
  };
}

/** Decides on the events that can't be read: each of them is stored once. */
export function decideUnreadable(events: readonly ReceivedEvent[]): readonly EventDecision[] {
  const decisions = new Map<string, EventDecision>();
  for (const event of events) {
    if (event.kind !== 'unreadable') continue;
    const { key } = event;
    const deliveries = (decisions.get(key)?.deliveries ?? 0) + deliveriesOf(event);
    const decision = { event, key, deliveries, withTeam: null, isKnown: false } as const;
    decisions.set(key, { ...decision, outcome: 'unreadable' });
  }
  return [...decisions.values()];
}

type Projection = {
  readonly state: CustomerState;
  readonly plan: Plan | null;
  readonly isApplied: boolean;
};

/** The plan that a team gets. A row with empty plan columns can have been linked or created after the customer's events. */
function decideTeam(
  team: StoredTeam,
  { state, plan, isApplied }: Projection,
  { fields, planSelection }: DecideOptions,
): TeamDecision & { isKept: boolean } {
  const unchanged = { team, plan: null, isKept: false };
  const shouldBe = plan && planWith(({ name }) => (fields.has(name) ? plan[name] : null));
  const isAffected = isApplied || isSamePlan(team.plan, NO_PLAN);
  if (shouldBe === null || !isAffected || isSamePlan(team.plan, shouldBe)) return unchanged;
  // The end of another subscription says nothing about one that only the application knows.
  const isEnd = planSelection === 'best' && shouldBe.providerSubscriptionId === null;
  if (isEnd && planWriterOf(team.plan, state) === 'unknown subscription') {
    return { ...unchanged, isKept: true };
  }
  return { team, plan: shouldBe, isKept: false };
}

function changedByEvent(event: ReadableEvent): ChangedBy {
  const { eventId, subscription, operator = null } = event;
  const cause = event.changeCause ?? (event.kind === 'snapshot' ? 'snapshot' : 'event');
  return { cause, eventId, eventCreatedSeconds: subscription.createdSeconds, operator };
}

function asLogged(outcome: Outcome | LoggedOutcome | null): LoggedOutcome {
  if (outcome === null || outcome === 'duplicate') {
    throw new RangeError('an event that is not known has an outcome of its own');
  }
  return outcome;
}
