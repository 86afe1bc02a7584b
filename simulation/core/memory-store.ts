import type { ApplicationId } from 'instep/src/core/application.ts';
import { EventHistory } from 'instep/src/core/event-history.ts';
import {
  type LatestState,
  type LatestStates,
  latestStateOf,
  NO_LATEST_STATES,
} from 'instep/src/core/latest-state.ts';
import { decidingEventsOf } from 'instep/src/core/ordering-rule.ts';
import type { DecidingEvents, PlanSelection } from 'instep/src/core/plan-selection.ts';
import {
  isSameState,
  type LoggedOutcome,
  type ParsedEvent,
  type SubscriptionState,
} from 'instep/src/core/subscription-event.ts';
import { type DecidingEvent, isSameDecidingEvent } from 'instep/src/core/tie-group.ts';
import { isSamePlan, NO_PLAN, type TeamPlan } from 'instep/src/core/transition.ts';
import { decide } from 'instep/src/ingest/decide.ts';
import type { IngestResult, ReceivedEvent } from 'instep/src/ingest/received-event.ts';
import type { LinkedTeam } from 'instep/src/postgres/statements/teams.ts';
import { tieGroupRangeAt } from 'instep/src/stripe/event-key.ts';

/** An event on its way to the store. */
export type Arrival = {
  readonly event: ReceivedEvent;
  /** The change as the log returns it later: equal, but a different object. */
  readonly asLogged: ParsedEvent;
  /** The first of the keys that events of its subscription and second can have. */
  readonly second: string;
};

type Entry = {
  readonly position: number;
  readonly key: string;
  outcome: LoggedOutcome;
  readonly parsed: ParsedEvent;
  readonly arrival: Arrival;
};

const NO_ENTRIES: readonly Entry[] = [];

/**
 * Replaces PostgreSQL in memory: reads the state for `decide`, and stores its decisions. As in the log, the
 * entries are in the order of their arrival.
 */
export class MemoryStore {
  readonly names = new Map<string, string>();
  readonly #planSelection: PlanSelection;
  /** The teams of each customer. */
  readonly #teams = new Map<string, readonly LinkedTeam[]>();
  #teamCount = 0;
  readonly #decidingEvents = new Map<string, DecidingEvents>();
  readonly #latestStates = new Map<string, LatestStates>();
  readonly #seconds = new Map<string, Entry[]>();
  readonly #subscriptions = new Map<string, Entry[]>();
  readonly #parked = new Map<string, Set<Entry>>();
  #lastPosition = 0;

  constructor(planSelection: PlanSelection) {
    this.#planSelection = planSelection;
  }

  teamsOf(customerId: string): readonly LinkedTeam[] {
    return this.#teams.get(customerId) ?? [];
  }

  link(customerId: string): void {
    if (this.teamsOf(customerId).length > 0) return;
    this.#teams.set(customerId, [this.#newTeam(customerId)]);
  }

  /** Links the customer to another team, in place of its first team or in addition to all others. */
  relink(customerId: string, how: 'move' | 'recreate' | 'duplicate'): void {
    const teams = this.teamsOf(customerId);
    const others = how === 'duplicate' ? teams : teams.slice(1);
    this.#teams.set(customerId, [...others, this.#newTeam(customerId)]);
  }

  /** The application writes a plan into the customer's first team. Returns the team's id. */
  write(customerId: string, plan: TeamPlan): ApplicationId {
    this.link(customerId);
    const [first, ...others] = this.teamsOf(customerId);
    if (first === undefined) throw new RangeError('the customer was linked');
    this.#teams.set(customerId, [{ ...first, plan }, ...others]);
    return first.id;
  }

  /** Gives teams with empty plan columns the plan of their customer, as maintenance does. */
  fillEmptyTeams(): void {
    const teams = [...this.#teams.values()].flat().filter(({ plan }) => isSamePlan(plan, NO_PLAN));
    const none = { logged: [], latestStates: new Map() };
    const known = { ...none, teams, decidingEvents: this.#decidingEvents, names: this.names };
    this.#writePlans(teams, decide([], known, this.#planSelection).plans);
  }

  #newTeam(customerId: string): LinkedTeam {
    this.#teamCount += 1;
    return { id: this.#teamCount, customerId, plan: NO_PLAN };
  }

  #writePlans(teams: Iterable<LinkedTeam>, plans: ReadonlyMap<ApplicationId, TeamPlan>): void {
    for (const { id, customerId } of teams) {
      const plan = plans.get(id);
      if (plan === undefined) continue;
      const changed = this.teamsOf(customerId).map((one) =>
        one.id === id ? { ...one, plan } : one,
      );
      this.#teams.set(customerId, changed);
    }
  }

  /** One transaction of the ingest pipeline. */
  ingest(arrivals: readonly Arrival[]): readonly IngestResult[] {
    const decidingEvents = new Map<string, DecidingEvents>();
    const latestStates = new Map<string, LatestStates>();
    const teams = new Map<string, readonly LinkedTeam[]>();
    const seconds = new Map<string, readonly Entry[]>();
    for (const { event, second } of arrivals) {
      if (event.kind === 'unreadable') continue;
      const { customerId } = event.subscription;
      seconds.set(second, this.#seconds.get(second) ?? NO_ENTRIES);
      teams.set(customerId, this.teamsOf(customerId));
      const known = this.#decidingEvents.get(customerId);
      if (known !== undefined) decidingEvents.set(customerId, known);
      latestStates.set(customerId, this.latestStatesOf(customerId));
    }

    const events = arrivals.map(({ event }) => event);
    const known = {
      teams: [...teams.values()].flat(),
      decidingEvents,
      latestStates,
      logged:
        arrivals.length === 1
          ? ([...seconds.values()][0] ?? NO_ENTRIES)
          : [...seconds.values()].flat().sort(byPosition),
      names: this.names,
    };
    let decision = decide(events, known, this.#planSelection);
    if (decision.needOtherSeconds.length > 0) {
      const others = decision.needOtherSeconds.flatMap(
        (event) => this.#subscriptions.get(subscriptionOf(event)) ?? NO_ENTRIES,
      );
      const logged = [...others, ...known.logged];
      decision = decide(events, { ...known, logged }, this.#planSelection);
    }
    this.#log(arrivals, decision.outcomes);
    for (const one of decision.decidingEvents) this.#remember(one);
    for (const state of decision.latestStates) this.#rememberLatest(state);
    this.#writePlans(known.teams, decision.plans);
    return decision.results;
  }

  hasParked(customerId: string): boolean {
    return (this.#parked.get(customerId)?.size ?? 0) > 0;
  }

  /** Whether an event with an effect is known. */
  hasState(customerId: string): boolean {
    return this.#decidingEvents.has(customerId);
  }

  hasAmbiguous(customerId: string): boolean {
    const states = this.#decidingEvents.get(customerId)?.values() ?? [];
    return [...states].some(({ order }) => order === 'ambiguous');
  }

  latestStatesOf(customerId: string): LatestStates {
    return this.#latestStates.get(customerId) ?? NO_LATEST_STATES;
  }

  /** Whether the log yields a different latest state of a subscription. */
  isLatestReplayedDifferently(customerId: string): boolean {
    return [...this.latestStatesOf(customerId).values()].some(
      ({ subscription: latest, sinceSeconds }) => {
        const entries = this.#subscriptions.get(subscriptionOf(latest)) ?? NO_ENTRIES;
        const history = new EventHistory(entries.map(({ parsed }) => parsed));
        const known = this.#decidingEvents.get(customerId)?.get(latest.subscriptionId);
        const deciding = known?.subscription ?? null;
        const replayed = latestStateOf(history.eventsOf(latest), {
          history,
          deciding,
          stored: undefined,
        });
        return (
          !isSameState(latest, replayed.subscription) || sinceSeconds !== replayed.sinceSeconds
        );
      },
    );
  }

  /** Whether the log yields a different state of a subscription, which `instep rebuild` would find. */
  isReplayedDifferently(customerId: string): boolean {
    return [...(this.#decidingEvents.get(customerId) ?? [])].some(([subscriptionId, state]) => {
      const entries = this.#subscriptions.get(subscriptionOf(state.subscription)) ?? NO_ENTRIES;
      const decided = entries.filter(({ outcome }) => outcome !== 'parked');
      const events = decided.map(({ parsed }) => parsed);
      const replayed = decidingEventsOf(events, this.#planSelection).get(subscriptionId);
      return !isSameDecidingEvent(state, replayed);
    });
  }

  /** The parked events whose customer now has a team, in the order of their arrival. */
  parked(): Arrival[] {
    return [...this.#parked]
      .filter(([customerId]) => this.teamsOf(customerId).length > 0)
      .flatMap(([, entries]) => [...entries].map(({ arrival }) => fromLog(arrival)));
  }

  /** The subscriptions whose order is ambiguous. */
  ambiguous(): readonly DecidingEvent[] {
    return [...this.#decidingEvents.values()].flatMap((ofCustomer) =>
      [...ofCustomer.values()].filter(({ order }) => order === 'ambiguous'),
    );
  }

  tieGroupKeysOf({ subscription: deciding }: DecidingEvent): ReadonlySet<string> {
    const { subscriptionId, createdSeconds } = deciding;
    const { low } = tieGroupRangeAt(createdSeconds, subscriptionId ?? '');
    return new Set((this.#seconds.get(low) ?? []).map(({ key }) => key));
  }

  /** Stores product names, and adds them to the teams that lack them. */
  learnNames(names: Iterable<readonly [string, string]>): void {
    for (const [productId, name] of names) this.names.set(productId, name);
    const teams = [...this.#teams.values()].flat();
    const plans = new Map<ApplicationId, TeamPlan>();
    for (const { id, plan } of teams) {
      const planName = plan.planName ?? this.names.get(plan.providerProductId ?? '') ?? null;
      if (planName !== plan.planName) plans.set(id, { ...plan, planName });
    }
    this.#writePlans(teams, plans);
  }

  #log(arrivals: readonly Arrival[], outcomes: ReadonlyMap<string, LoggedOutcome>): void {
    for (const arrival of arrivals) {
      const { key } = arrival.event;
      const outcome = outcomes.get(key);
      if (outcome === undefined || arrival.event.kind === 'unreadable') continue;
      const { second } = arrival;
      const entries = this.#seconds.get(second) ?? [];
      const found = entries.find((entry) => entry.key === key);
      this.#lastPosition += found === undefined ? 1 : 0;
      const position = this.#lastPosition;
      const entry = found ?? { position, key, outcome, parsed: arrival.asLogged, arrival };
      if (found === undefined) {
        this.#seconds.set(second, [...entries, entry]);
        const id = subscriptionOf(arrival.event.subscription);
        this.#subscriptions.set(id, [...(this.#subscriptions.get(id) ?? []), entry]);
      }
      if (found?.outcome === 'parked') found.outcome = outcome;
      const { customerId } = arrival.event.subscription;
      const parked = this.#parked.get(customerId);
      if (entry.outcome !== 'parked') parked?.delete(entry);
      else this.#parked.set(customerId, (parked ?? new Set()).add(entry));
    }
  }

  #rememberLatest({ subscription: latest, ...state }: LatestState): void {
    const states = new Map(this.latestStatesOf(latest.customerId));
    states.set(latest.subscriptionId, { ...state, subscription: { ...latest }, object: null });
    this.#latestStates.set(latest.customerId, states);
  }

  #remember({ subscription: deciding, order }: DecidingEvent): void {
    const ofCustomer = new Map(this.#decidingEvents.get(deciding.customerId));
    ofCustomer.set(deciding.subscriptionId, { subscription: { ...deciding }, order });
    this.#decidingEvents.set(deciding.customerId, ofCustomer);
  }
}

function subscriptionOf({ customerId, subscriptionId }: SubscriptionState): string {
  return `${customerId} ${subscriptionId}`;
}

function byPosition(one: Entry, other: Entry): number {
  return one.position - other.position;
}

function fromLog(arrival: Arrival): Arrival {
  const { event, asLogged } = arrival;
  return event.kind === 'readable'
    ? { ...arrival, event: { ...event, ...asLogged, source: 'log', productName: null } }
    : arrival;
}
