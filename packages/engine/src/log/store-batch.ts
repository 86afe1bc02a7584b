// Reads, decides and writes a batch: two statements, each by itself. event-queues.ts forms the batches.

import type { StatementRunner, TextRow } from '../postgres/statement.ts';
import type { TeamsTable } from '../postgres/teams-table.ts';
import { eventsNeededFor } from '../rule/known-events.ts';
import type { PlanSelection } from '../rule/plan-selection.ts';
import {
  type CustomerDecision,
  decide,
  decideUnreadable,
  type EventDecision,
  type SettleOptions,
} from './decide.ts';
import type { IngestResult, LogEvent, ReadableLogEvent } from './log-event.ts';
import {
  type CustomerRow,
  customersIn,
  readCustomersText,
  type StoredCustomer,
} from './read-customers.ts';
import { eventsIn, noEvents, readNeededEvents } from './read-events.ts';
import { findsTeam, write } from './write.ts';
import { writeText } from './write-text.ts';

export type StoreOptions = {
  readonly planSelection: PlanSelection;
  readonly database: StatementRunner;
  /** The application's table, which can change while the process runs. */
  readonly findTeams: () => Promise<TeamsTable>;
  /** Is called with what could not be written, when a statement fails for a single customer. */
  readonly onFailed?: (decision: CustomerDecision) => void;
  /** An event that waited for a team has its outcome, without being ingested again. */
  readonly onFoundTeam?: (event: Readonly<Record<'type' | 'outcome', string>>) => void;
};

type BatchOptions = {
  readonly timeoutMs: number;
  /** Whether teams get the names of their plans. */
  readonly isNamed: boolean;
};

/**
 * `locked`: not stored, because another transaction holds the customer's team, or has just changed it, or an earlier event
 * of the batch has to be stored first.
 */
export type BatchResult = IngestResult | 'locked';

/** Stores events and settles customers. */
export class BatchStore {
  readonly #options: StoreOptions;
  #texts: Texts | null = null;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  /** Stores events, in the order of their arrival. */
  async store(events: readonly LogEvent[], options: BatchOptions): Promise<readonly BatchResult[]> {
    const texts = await this.#textsNow();
    const decided = await this.#decide(groupByCustomer(events), texts, options);
    const changing = decided.map(({ decision }) => decision).filter(changesAnything);
    const written = await this.#write(changing, decideUnreadable(events), texts, options);
    const stored = decided.filter(
      ({ decision }) => written.customerIds.has(idOf(decision)) || !changesAnything(decision),
    );
    const results = new Map(stored.map((one) => [idOf(one.decision), [...one.results]]));
    return events.map((event): BatchResult => {
      if (event.kind !== 'unreadable') {
        return results.get(event.subscription.customerId)?.shift() ?? 'locked';
      }
      // Of several in this batch, the first is the new one.
      const outcome = written.newKeys.delete(event.key) ? 'unreadable' : 'duplicate';
      return { outcome, loggedOutcome: 'unreadable', teamIds: [], keptTeamIds: [] };
    });
  }

  /**
   * Gives the teams of a customer the plan that they should have, and its row what its state says under today's options.
   * Returns whether it was not locked.
   */
  async settle(customerId: string, options: BatchOptions & SettleOptions): Promise<boolean> {
    const texts = await this.#textsNow();
    const decided = await this.#decide(new Map([[customerId, []]]), texts, options);
    const isKnown = ({ customer, state }: CustomerDecision) =>
      customer.version > 0 || state.subscriptions.size > 0;
    const known = decided.flatMap(({ decision }) =>
      isKnown(decision) || changesAnything(decision) ? decision : [],
    );
    const { customerIds } = await this.#write(known, [], texts, options);
    return customerIds.size === known.length;
  }

  async #textsNow(): Promise<Texts> {
    const teams = await this.#options.findTeams();
    if (this.#texts?.teams !== teams) {
      this.#texts = { teams, read: readCustomersText(teams), write: writeText(teams) };
    }
    return this.#texts;
  }

  async #decide(arrivals: Arrivals, { read, teams }: Texts, batch: BatchOptions & SettleOptions) {
    const { timeoutMs, isNamed: _, names = namesIn(arrivals), ...settling } = batch;
    const statement = { name: 'read_customers', text: read, values: [[...arrivals.keys()]] };
    const rows = await this.#options.database.run<CustomerRow>(statement, timeoutMs);
    const customers = customersIn(rows, teams.id.type).map((customer) => ({
      ...customer,
      ...settling.rebuilt,
    }));
    const logged = await this.#readNeeded(arrivals, customers, timeoutMs);
    const { planSelection } = this.#options;
    const options = { planSelection, names, ...settling };
    return customers.map((customer) => {
      const { customerId } = customer;
      const events = arrivals.get(customerId) ?? [];
      return decide(customer, events, logged.get(customerId) ?? noEvents(), options);
    });
  }

  async #readNeeded(arrivals: Arrivals, customers: readonly StoredCustomer[], timeoutMs: number) {
    const needed = customers.flatMap(({ customerId, state }) =>
      (arrivals.get(customerId) ?? []).flatMap((event) => eventsNeededFor(state, event) ?? []),
    );
    if (needed.length === 0) return new Map();
    return eventsIn(await this.#options.database.run(readNeededEvents(needed), timeoutMs));
  }

  /**
   * The customers that were written: not one of whom another transaction holds a team, or has changed one, or decided about
   * it in between. And the keys of the events that can't be read and are new.
   */
  async #write(
    customers: readonly CustomerDecision[],
    unreadable: readonly EventDecision[],
    { write: text }: Texts,
    { timeoutMs, isNamed }: BatchOptions,
  ) {
    const { database, onFailed, onFoundTeam } = this.#options;
    const written = { customerIds: new Set<string>(), newKeys: new Set<string>() };
    const [first, ...others] = customers;
    if (first === undefined && unreadable.length === 0) return written;
    try {
      const statement = write(text, customers, unreadable, isNamed);
      for (const row of await database.run<WrittenRow>(statement, timeoutMs)) {
        const { customer_id: customerId, key, type, outcome } = row;
        if (customerId !== null) written.customerIds.add(customerId);
        if (key !== null) written.newKeys.add(key);
        if (type !== null && outcome !== null) onFoundTeam?.({ type, outcome });
      }
      return written;
    } catch (error) {
      if (first !== undefined && others.length === 0) onFailed?.(first);
      throw error;
    }
  }
}

/** The statements for the application's table of teams. */
type Texts = { readonly teams: TeamsTable; readonly read: string; readonly write: string };

/** By customer, in the order of arrival. */
type Arrivals = ReadonlyMap<string, readonly ReadableLogEvent[]>;

type WrittenRow = TextRow<'customer_id' | 'key' | 'type' | 'outcome'>;

const idOf = ({ customer }: CustomerDecision) => customer.customerId;

function groupByCustomer(events: readonly LogEvent[]): Arrivals {
  const arrivals = new Map<string, ReadableLogEvent[]>();
  for (const event of events) {
    if (event.kind === 'unreadable') continue;
    const { customerId } = event.subscription;
    const own = arrivals.get(customerId) ?? [];
    own.push(event);
    arrivals.set(customerId, own);
  }
  return arrivals;
}

/** Whether there is something to write: not for an outdated snapshot, or a customer who is as it should be. */
function changesAnything(decision: CustomerDecision): boolean {
  const { events, teams } = decision;
  return events.length > 0 || findsTeam(decision) || teams.some(({ plan }) => plan !== null);
}

/** The names of products that were looked up for the events. */
function namesIn(arrivals: Arrivals): ReadonlyMap<string | null, string> {
  const names = new Map<string | null, string>();
  for (const { subscription, productName } of [...arrivals.values()].flat()) {
    if (productName) names.set(subscription.productId, productName);
  }
  return names;
}
