// Reads, decides and writes a batch: two statements, each by itself. event-queues.ts forms the batches.

import type { Database, Statement, TextRow } from '../postgres/statement.ts';
import { fieldsOf, type TeamsTable } from '../postgres/teams-table.ts';
import type { AccessRules } from '../rule/access-facts.ts';
import { eventsNeededFor } from '../rule/known-events.ts';
import type { PlanFieldName } from '../rule/plan-fields.ts';
import { type CustomerDecision, decide } from './decide.ts';
import { customersIn, readCustomers, readCustomersText } from './read-customers.ts';
import { eventsIn, noEvents, type ParseLogged, readNeededEvents } from './read-events.ts';
import {
  type ActingOperator,
  deliveriesOf,
  type IngestResult,
  type ReceivedEvent,
} from './received-event.ts';
import type { StoredCustomer } from './stored-customer.ts';
import { findsTeam, type UnreadableDecision, write } from './write.ts';
import { writeText } from './write-text.ts';

/** Where plan names are written: not in teams if their column refused one, and nowhere if the database's encoding did. */
export type NamesWritten = 'everywhere' | 'not in teams' | 'nowhere';

export type StoreOptions = AccessRules & {
  readonly database: Database;
  /** The application's table, which can change while the process runs. */
  readonly findTeams: () => Promise<TeamsTable>;
  readonly parse: ParseLogged;
  /** Is called with what could not be written, when a statement fails for a single customer. */
  readonly onFailed?: (decision: CustomerDecision) => void;
  /** An event that waited for a team has its outcome, without being ingested again. */
  readonly onFoundTeam?: (event: FoundEvent) => void;
};

export type FoundEvent = Readonly<Record<'type' | 'outcome', string>>;

export type BatchOptions = {
  readonly timeoutMs: number;
  readonly namesWritten?: NamesWritten;
  /** The operator who settles the customers, for the history of changes. */
  readonly operator?: ActingOperator | null;
};

/** `locked`: not stored, because another transaction holds the customer's team, or has just changed it. */
export type BatchResult = IngestResult | 'locked';

/** Stores events and settles customers. */
export class BatchStore {
  readonly #options: StoreOptions;
  #texts: Texts | null = null;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  /** Stores events, in the order of their arrival: each of them, or none of its customer's. */
  async store(
    events: readonly ReceivedEvent[],
    options: BatchOptions,
  ): Promise<readonly BatchResult[]> {
    const results = events.map((): BatchResult => 'locked');
    const arrivals = groupByCustomer(events);
    const { decisions, isWritten, newKeys } = await this.#write(arrivals, options);
    for (const { decision, results: own } of decisions) {
      if (!isWritten(decision)) continue;
      for (const [place, [index]] of (arrivals.get(decision.customer.customerId) ?? []).entries()) {
        results[index] = own[place] ?? 'locked';
      }
    }
    for (const [index, { key }] of arrivals.get(null) ?? []) {
      // Of several in this batch, the first is the new one.
      const outcome = newKeys.delete(key) ? 'unreadable' : 'duplicate';
      results[index] = { outcome, loggedOutcome: 'unreadable', teamIds: [], keptTeamIds: [] };
    }
    return results;
  }

  /**
   * Gives the teams of a customer the plan that they should have, and its row what its state says under today's options.
   * Returns whether it was not locked.
   */
  async settle(customerId: string, options: BatchOptions): Promise<boolean> {
    const isKnown = ({ customer }: CustomerDecision) => customer.version > 0;
    const { decisions, isWritten } = await this.#write(
      new Map([[customerId, []]]),
      options,
      isKnown,
    );
    return decisions.every(({ decision }) => isWritten(decision));
  }

  async #write(
    arrivals: Arrivals,
    options: BatchOptions,
    isNeeded: (decision: CustomerDecision) => boolean = changesAnything,
  ) {
    const { timeoutMs, namesWritten = 'everywhere' } = options;
    const texts = await this.#textsNow();
    const decisions = await this.#decide(arrivals, texts, options);
    const unreadable = unreadableIn(arrivals);
    const customers = decisions.map(({ decision }) => decision).filter(isNeeded);
    const isEmpty = customers.length === 0 && unreadable.length === 0;
    const values = { customers, unreadable, isNamed: namesWritten === 'everywhere' };
    const rows = isEmpty
      ? []
      : await this.#runWrite(write(texts.write, values), customers, timeoutMs);
    for (const { type, outcome } of rows) {
      if (type !== null && outcome !== null) this.#options.onFoundTeam?.({ type, outcome });
    }
    const written = new Set(rows.map(({ customer_id }) => customer_id));
    return {
      decisions,
      /** Not if another transaction holds one of its teams, or has changed one, or decided about it in between. */
      isWritten: (decision: CustomerDecision) =>
        written.has(decision.customer.customerId) || !isNeeded(decision),
      /** The keys of the events that can't be read and are new. */
      newKeys: new Set(rows.map(({ key }) => key)),
    };
  }

  async #textsNow(): Promise<Texts> {
    const teams = await this.#options.findTeams();
    if (this.#texts?.teams !== teams) {
      const fields = new Set(fieldsOf(teams).map(({ name }) => name));
      this.#texts = { teams, fields, read: readCustomersText(teams), write: writeText(teams) };
    }
    return this.#texts;
  }

  async #runWrite(
    statement: Statement,
    customers: readonly CustomerDecision[],
    timeoutMs: number,
  ): Promise<readonly WrittenRow[]> {
    const { database, onFailed } = this.#options;
    try {
      return await database.run<WrittenRow>(statement, timeoutMs);
    } catch (error) {
      const [decision, ...others] = customers;
      if (decision !== undefined && others.length === 0) onFailed?.(decision);
      throw error;
    }
  }

  async #decide(
    arrivals: Arrivals,
    { read, fields }: Texts,
    { timeoutMs, namesWritten = 'everywhere', operator = null }: BatchOptions,
  ) {
    const { database } = this.#options;
    const customerIds = [...arrivals.keys()].filter((id) => id !== null);
    if (customerIds.length === 0) return [];
    const rows = await database.run<CustomerRow>(readCustomers(read, customerIds), timeoutMs);
    const customers = [...customersIn(rows).values()];
    const logged = await this.#readNeeded(arrivals, customers, timeoutMs);
    const { planSelection, keepsPaused } = this.#options;
    const names = namesOf(arrivals, namesWritten);
    return customers.map((customer) => {
      const { customerId } = customer;
      const events = (arrivals.get(customerId) ?? []).map(([, event]) =>
        namesWritten === 'nowhere' ? withoutName(event) : event,
      );
      const options = { planSelection, keepsPaused, fields, names, operator };
      return decide(customer, events, logged.get(customerId) ?? noEvents(), options);
    });
  }

  async #readNeeded(arrivals: Arrivals, customers: readonly StoredCustomer[], timeoutMs: number) {
    const needed = customers.flatMap(({ customerId, state }) =>
      (arrivals.get(customerId) ?? []).flatMap(([, event]) =>
        event.kind === 'unreadable' ? [] : (eventsNeededFor(state, event) ?? []),
      ),
    );
    if (needed.length === 0) return new Map();
    const { database, parse } = this.#options;
    return eventsIn(await database.run(readNeededEvents(needed), timeoutMs), parse);
  }
}

/** The statements for the application's table of teams, and the fields of a plan that it has. */
type Texts = {
  readonly teams: TeamsTable;
  readonly fields: ReadonlySet<PlanFieldName>;
  readonly read: string;
  readonly write: string;
};

/** An event with its place among those to store. */
type Arrival = readonly [index: number, event: ReceivedEvent];

/** By customer, in the order of arrival; under `null`, the events that can't be read. */
type Arrivals = ReadonlyMap<string | null, readonly Arrival[]>;

type WrittenRow = TextRow<'customer_id' | 'key' | 'type' | 'outcome'>;
type CustomerRow = Parameters<typeof customersIn>[0][number];

function groupByCustomer(events: readonly ReceivedEvent[]): Arrivals {
  const arrivals = new Map<string | null, Arrival[]>();
  for (const [index, event] of events.entries()) {
    const customerId = event.kind === 'unreadable' ? null : event.subscription.customerId;
    const own = arrivals.get(customerId) ?? [];
    own.push([index, event]);
    arrivals.set(customerId, own);
  }
  return arrivals;
}

/** The events that can't be read, each once. */
function unreadableIn(arrivals: Arrivals): UnreadableDecision[] {
  const decisions = new Map<string, UnreadableDecision>();
  for (const [, event] of arrivals.get(null) ?? []) {
    const deliveries = decisions.get(event.key)?.deliveries ?? 0;
    decisions.set(event.key, { event, deliveries: deliveries + deliveriesOf(event) });
  }
  return [...decisions.values()];
}

/** Whether there is something to write: not for an outdated snapshot, or a customer who is as it should be. */
function changesAnything(decision: CustomerDecision): boolean {
  const { events, teams } = decision;
  return events.length > 0 || findsTeam(decision) || teams.some(({ plan }) => plan !== null);
}

/** The names of products that were looked up for the events. */
function namesOf(arrivals: Arrivals, namesWritten: NamesWritten): Map<string | null, string> {
  const names = new Map<string | null, string>();
  if (namesWritten === 'nowhere') return names;
  for (const [, event] of [...arrivals.values()].flat()) {
    if (event.kind === 'unreadable' || !event.productName) continue;
    names.set(event.subscription.productId, event.productName);
  }
  return names;
}

function withoutName<Event extends ReceivedEvent>(event: Event): Event {
  if (event.kind === 'unreadable') return event;
  return { ...event, subscription: { ...event.subscription, planName: null } };
}
