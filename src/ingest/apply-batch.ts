import { keysOfSameSecond } from '../core/event-key.ts';
import type { LoggedEvent } from '../core/logged-event.ts';
import type { PlanSelection } from '../core/plan-selection.ts';
import type { TeamPlan } from '../core/transition.ts';
import type { AtCommit, Query } from '../postgres/database.ts';
import { type LogEntry, logEvents, readLog } from '../queries/events.ts';
import { noteNamelessProducts } from '../queries/products.ts';
import { readCustomers, writeSubscriptions } from '../queries/subscriptions.ts';
import { type LinkedTeam, lockFreeTeams, lockTeams, writePlans } from '../queries/teams.ts';
import { changeOf } from '../stripe/logged-event.ts';
import { decide } from './decide.ts';
import type { NamedEvent, Result } from './received-event.ts';
import { recognize } from './recognize.ts';

export type Transaction = { readonly query: Query; readonly atCommit: AtCommit };

export type ApplyOptions = {
  /** Which of several subscriptions a team has. */
  readonly planSelection: PlanSelection;
  /** For a table of the application's that refuses the name of a plan. */
  readonly withoutNames?: boolean;
};

/** What the database knows of a batch's events and customers. */
type StoredState = {
  readonly log: readonly LoggedEvent[];
  readonly customers: Awaited<ReturnType<typeof readCustomers>>;
};

/**
 * Does all that a batch of events does, within one transaction and in two round trips, whatever
 * its size: lock the teams and read what is known; decide; write and commit. The results in the
 * events' order.
 *
 * The lock comes first: whoever holds a customer's team decides alone on the customer's events,
 * and what is read after it is what the last one who held it has left.
 */
export async function applyBatch(
  transaction: Transaction,
  events: readonly NamedEvent[],
  options: ApplyOptions,
): Promise<readonly Result[]> {
  const { query } = transaction;
  const customerIds = customerIdsOf(events);
  const [teams, known] = await Promise.all([
    lockTeams(query, customerIds),
    readKnown(query, events, customerIds),
  ]);
  return applyTo(teams, known, transaction, events, options);
}

/**
 * The same, but waits for no team that somebody else holds: instead of a result the events of its
 * customer have `null`, and nothing of them is stored.
 */
export async function applyFree(
  transaction: Transaction,
  events: readonly NamedEvent[],
  options: ApplyOptions,
): Promise<readonly (Result | null)[]> {
  const { query } = transaction;
  const customerIds = customerIdsOf(events);
  const [{ teams, heldCustomerIds }, known] = await Promise.all([
    lockFreeTeams(query, customerIds),
    readKnown(query, events, customerIds),
  ]);
  const isFree = (event: NamedEvent) =>
    event.kind === 'unreadable' || !heldCustomerIds.has(event.subscription.customerId);
  const free = events.filter(isFree);
  const results = applyTo(teams, known, transaction, free, options).values();
  return events.map((event) => (isFree(event) ? (results.next().value ?? null) : null));
}

/** Sent right behind the lock, and answered after it is held. */
async function readKnown(
  query: Query,
  events: readonly NamedEvent[],
  customerIds: readonly string[],
): Promise<StoredState> {
  const ranges = new Map(
    events.map(({ key }) => keysOfSameSecond(key)).map((range) => [range.low, range]),
  );
  const [log, customers] = await Promise.all([
    readLog(query, [...ranges.values()]),
    readCustomers(query, customerIds),
  ]);
  return { log, customers };
}

function applyTo(
  teams: readonly LinkedTeam[],
  { log, customers }: StoredState,
  { query, atCommit }: Transaction,
  received: readonly NamedEvent[],
  { planSelection, withoutNames = false }: ApplyOptions,
): readonly Result[] {
  const events = recognize(received, log);
  const decision = decide(
    events,
    { ...customers, teams, logged: log.map((row) => ({ ...row, change: changeOf(row) })) },
    planSelection,
  );

  const entries = logEntries(events, decision.outcomes);
  const { subscriptions } = decision;
  const plans = withoutNames ? stripNames(decision.plans) : decision.plans;
  const nameless = productsWithoutName(decision.plans);
  if (entries.length > 0) atCommit(logEvents(query, entries));
  if (subscriptions.length > 0) atCommit(writeSubscriptions(query, subscriptions));
  if (plans.size > 0) atCommit(writePlans(query, plans));
  if (nameless.length > 0) atCommit(noteNamelessProducts(query, nameless));
  return decision.results;
}

function stripNames(plans: ReadonlyMap<number, TeamPlan>): Map<number, TeamPlan> {
  return new Map([...plans].map(([teamId, plan]) => [teamId, { ...plan, planName: null }]));
}

function productsWithoutName(plans: ReadonlyMap<number, TeamPlan>): string[] {
  const productIds = new Set<string>();
  for (const { providerProductId, planName } of plans.values()) {
    if (providerProductId !== null && planName === null) productIds.add(providerProductId);
  }
  return [...productIds];
}

/** One entry for each event that the log is to keep, however often it stands in the batch. */
function logEntries(
  events: readonly NamedEvent[],
  outcomes: ReadonlyMap<string, LogEntry['outcome']>,
): LogEntry[] {
  const entries = new Map<string, LogEntry>();
  for (const event of events) {
    const outcome = outcomes.get(event.key);
    if (outcome === undefined) continue;
    const entry = logEntry(event, outcome);
    const former = entries.get(event.key);
    entries.set(event.key, former === undefined ? entry : deliveredAgain(former, entry));
  }
  return [...entries.values()];
}

function deliveredAgain(entry: LogEntry, { deliveries }: LogEntry): LogEntry {
  return { ...entry, deliveries: entry.deliveries + deliveries };
}

function logEntry(event: NamedEvent, outcome: LogEntry['outcome']): LogEntry {
  const { key, eventId, type, receivedAtMs, body } = event;
  const subscription = event.kind === 'unreadable' ? null : event.subscription;
  return {
    key,
    eventId,
    type,
    customerId: subscription?.customerId ?? null,
    subscriptionId: subscription?.subscriptionId ?? null,
    createdSeconds: subscription?.createdSeconds ?? null,
    receivedAtMs,
    outcome,
    body,
    deliveries: event.source === 'delivery' ? 1 : 0,
  };
}

function customerIdsOf(events: readonly NamedEvent[]): string[] {
  const customerIds = new Set<string>();
  for (const event of events) {
    if (event.kind !== 'unreadable') customerIds.add(event.subscription.customerId);
  }
  return [...customerIds];
}
