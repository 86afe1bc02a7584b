import {
  decide,
  type LogEvent,
  type LoggedEvents,
  type StoredCustomer,
  type StoredTeam,
  type Waiting,
} from 'instep-engine/log';
import type { ApplicationId } from 'instep-engine/postgres';
import {
  ambiguousReport,
  type CustomerState,
  eventsNeededFor,
  foldAll,
  isSamePlan,
  KnownEvents,
  NO_PLAN,
  NO_STATE,
  type Plan,
  type PlanSelection,
  readState,
  writeState,
} from 'instep-engine/rule';
import type { LatestStatus } from '../expected-team.ts';

/** An event on its way to the store. */
export type Arrival = Exclude<LogEvent, { readonly kind: 'unreadable' }>;

/** A second of a subscription whose events leave open which came last. */
export type AmbiguousOrder = {
  readonly customerId: string;
  readonly subscriptionId: string | null;
  readonly createdSeconds: number;
};

type Entry = { readonly event: Arrival; readonly outcomes: Outcomes };
type Outcomes = LoggedEvents['outcomes'] extends ReadonlyMap<string, infer Found> ? Found : never;

type Customer = {
  /** As it is stored. */
  readonly text: string;
  readonly waiting: Waiting | null;
  readonly teams: readonly StoredTeam[];
  /** In the order of arrival. */
  readonly log: readonly Entry[];
};

const NO_CUSTOMER: Customer = { text: writeState(NO_STATE), waiting: null, teams: [], log: [] };

/**
 * Replaces PostgreSQL in memory: reads what `decide` needs, and stores its decisions. A customer's state is stored as text,
 * and of the log only the events are read that the engine asks for.
 */
export class CoreStore {
  readonly #planSelection: PlanSelection;
  readonly #names = new Map<string, string>();
  readonly #customers = new Map<string, Customer>();
  #teamCount = 0;
  /** The keys of the parked events that were decided without being ingested again. */
  #decided: string[] = [];

  constructor(planSelection: PlanSelection) {
    this.#planSelection = planSelection;
  }

  /** Stores one batch. Returns the outcomes of its events. */
  ingest(arrivals: readonly Arrival[]): readonly string[] {
    const outcomes: string[] = [];
    for (const customerId of new Set(arrivals.map(customerOf))) {
      const own = [...arrivals.entries()].filter(([, event]) => customerOf(event) === customerId);
      // Those that are left are tried again.
      while (own.length > 0) {
        const events = own.map(([, event]) => event);
        for (const outcome of this.#decide(customerId, events)) {
          outcomes[own.shift()?.[0] ?? -1] = outcome;
        }
      }
    }
    return outcomes;
  }

  /** Settles the customers with an empty team, or with events that waited for one. */
  settle(): void {
    for (const [customerId, { teams, waiting }] of this.#customers) {
      const isEmpty = teams.some(({ plan }) => isSamePlan(plan, NO_PLAN));
      if (isEmpty || (waiting !== null && teams.length > 0)) this.#decide(customerId, []);
    }
  }

  #decide(customerId: string, events: readonly Arrival[]): readonly string[] {
    const customer = this.#customerOf(customerId);
    const { text, waiting, teams, log } = customer;
    const stored: StoredCustomer = {
      ...{ customerId, version: 1, state: readState(text) },
      ...{ waiting, teams },
    };
    const { decision, results } = decide(stored, events, neededOf(log, stored.state, events), {
      ...{ planSelection: this.#planSelection },
      names: this.#namesWith(events),
    });
    const plans = new Map(decision.teams.map(({ team, plan }) => [team.id, plan]));
    const added = decision.events.flatMap(({ event, key, outcome, parkedOutcome }): Entry[] =>
      event.kind === 'unreadable' || log.some((entry) => entry.event.key === key)
        ? []
        : [{ event, outcomes: { outcome, parkedOutcome } }],
    );
    const found = teams.length > 0 ? log.map((entry) => this.#withTeam(entry, events)) : log;
    this.#customers.set(customerId, {
      text: writeState(decision.state),
      waiting: decision.waiting,
      teams: teams.map(({ id, plan }) => ({ id, plan: plans.get(id) ?? plan })),
      log: [...found, ...added],
    });
    return results.map(({ outcome }) => outcome);
  }

  /** A parked event whose customer has a team gets its outcome. */
  #withTeam(entry: Entry, ingested: readonly Arrival[]): Entry {
    const { event, outcomes } = entry;
    const { outcome, parkedOutcome } = outcomes;
    if (outcome !== 'parked' || parkedOutcome === null) return entry;
    if (!ingested.some(({ key }) => key === event.key)) this.#decided.push(event.key);
    return { event, outcomes: { outcome: parkedOutcome, parkedOutcome: null } };
  }

  #namesWith(events: readonly Arrival[]): ReadonlyMap<string | null, string> {
    const names = new Map<string | null, string>(this.#names);
    for (const { subscription, productName } of events) {
      if (productName) names.set(subscription.productId, productName);
    }
    return names;
  }

  /** The parked events that were decided since the last call, without being ingested again. */
  takeDecided(): readonly string[] {
    const decided = this.#decided;
    this.#decided = [];
    return decided;
  }

  #customerOf(customerId: string): Customer {
    return this.#customers.get(customerId) ?? NO_CUSTOMER;
  }

  #stateOf(customerId: string): CustomerState {
    return readState(this.#customerOf(customerId).text);
  }

  teamsOf(customerId: string): readonly StoredTeam[] {
    return this.#customerOf(customerId).teams;
  }

  #setTeams(customerId: string, teams: readonly StoredTeam[]): void {
    this.#customers.set(customerId, { ...this.#customerOf(customerId), teams });
  }

  link(customerId: string): void {
    if (this.teamsOf(customerId).length > 0) return;
    this.#setTeams(customerId, [this.#newTeam()]);
  }

  /** Links the customer to another team, in place of its first team or in addition to all others. */
  relink(customerId: string, how: 'move' | 'recreate' | 'duplicate'): void {
    const teams = this.teamsOf(customerId);
    const others = how === 'duplicate' ? teams : teams.slice(1);
    this.#setTeams(customerId, [...others, this.#newTeam()]);
  }

  /** The application writes a plan into the customer's first team. Returns the team's id. */
  write(customerId: string, plan: Partial<Plan>): ApplicationId {
    this.link(customerId);
    const [first, ...others] = this.teamsOf(customerId);
    if (first === undefined) throw new RangeError('the customer was linked');
    this.#setTeams(customerId, [{ ...first, plan: { ...NO_PLAN, ...plan } }, ...others]);
    return first.id;
  }

  #newTeam(): StoredTeam {
    this.#teamCount += 1;
    return { id: `${this.#teamCount}`, plan: NO_PLAN };
  }

  /** Stores product names, and adds them to the teams that lack them. */
  learnNames(names: Iterable<readonly [string, string]>): void {
    for (const [productId, name] of names) this.#names.set(productId, name);
    for (const [customerId, { teams }] of this.#customers) {
      this.#setTeams(
        customerId,
        teams.map(({ id, plan }) => {
          const planName = plan.planName ?? this.#names.get(plan.providerProductId ?? '') ?? null;
          return { id, plan: { ...plan, planName } };
        }),
      );
    }
  }

  hasParked(customerId: string): boolean {
    return this.#customerOf(customerId).log.some(({ outcomes }) => outcomes.outcome === 'parked');
  }

  /** Whether an event with an effect is known. */
  hasState(customerId: string): boolean {
    return [...this.#stateOf(customerId).subscriptions.values()].some(({ deciding }) => deciding);
  }

  hasAmbiguous(customerId: string): boolean {
    return ambiguousReport(this.#stateOf(customerId)) !== null;
  }

  /** The orders about which Stripe is asked: those of customers with a team. */
  ambiguous(): readonly AmbiguousOrder[] {
    return [...this.#customers].flatMap(([customerId, { teams }]) =>
      teams.length === 0
        ? []
        : [...this.#stateOf(customerId).subscriptions].flatMap(([subscriptionId, { deciding }]) => {
            if (deciding === null || !deciding.isAmbiguous) return [];
            const { createdSeconds } = deciding.reported;
            return { customerId, subscriptionId, createdSeconds };
          }),
    );
  }

  tieGroupKeysOf({
    customerId,
    subscriptionId,
    createdSeconds,
  }: AmbiguousOrder): ReadonlySet<string> {
    const inSecond = this.#customerOf(customerId).log.filter(
      ({ event: { subscription } }) =>
        subscription.subscriptionId === subscriptionId &&
        subscription.createdSeconds === createdSeconds,
    );
    return new Set(inSecond.map(({ event }) => event.key));
  }

  /** The latest status of each subscription, in the order of their ids. */
  latestOf(customerId: string): readonly LatestStatus[] {
    return [...this.#stateOf(customerId).subscriptions]
      .map(([id, { latest }]) => ({
        subscriptionId: id ?? '',
        status: latest.reported.status,
        sinceSeconds: latest.sinceSeconds,
      }))
      .sort((a, b) => (a.subscriptionId < b.subscriptionId ? -1 : 1));
  }

  /** Whether the whole log leads to another text, which `instep rebuild` would find. */
  isReplayedDifferently(customerId: string): boolean {
    const { log, text } = this.#customerOf(customerId);
    const events = log.map(({ event }) => event);
    return writeState(foldAll(events)) !== text;
  }
}

function customerOf({ subscription }: Arrival): string {
  return subscription.customerId;
}

/** Only what the engine asks the log for: equal to what was stored, but different objects. */
function neededOf(
  log: readonly Entry[],
  state: CustomerState,
  events: readonly Arrival[],
): LoggedEvents {
  const secondOf = ({ event }: Entry) => event.subscription.createdSeconds;
  const found = new Set<Entry>();
  for (const event of events) {
    const needed = eventsNeededFor(state, event);
    if (needed === null) continue;
    const own = log.filter(
      ({ event: { subscription } }) => subscription.subscriptionId === needed.subscriptionId,
    );
    const later = own.filter((entry) => secondOf(entry) > needed.toSeconds);
    const [next] = later.sort((a, b) => secondOf(a) - secondOf(b));
    if (next !== undefined) found.add(next);
    for (const entry of own) {
      const second = secondOf(entry);
      if (second >= needed.fromSeconds && second <= needed.toSeconds) found.add(entry);
    }
    for (const entry of log) if (entry.event.key === needed.key) found.add(entry);
  }
  const entries = log.filter((entry) => found.has(entry));
  return {
    known: new KnownEvents(entries.map(({ event }) => ({ ...event }))),
    outcomes: new Map(entries.map(({ event, outcomes }) => [event.key, outcomes])),
  };
}
