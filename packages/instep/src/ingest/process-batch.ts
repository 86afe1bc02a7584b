// The transaction of a batch: what it locks, reads and writes. pipeline.ts runs it.

import { tieGroupRanges } from '../core/event-key-layout.ts';
import type { PlanSelection } from '../core/plan-selection.ts';
import { effectOf } from '../core/status.ts';
import type { LoggedEvent, SubscriptionState } from '../core/subscription-event.ts';
import type { TeamPlan } from '../core/transition.ts';
import { type AtCommit, type Query, unlessRefused } from '../postgres/database.ts';
import { storeDoubleBilled } from '../postgres/statements/double-billing.ts';
import {
  deleteParkedCopies,
  type LogEntry,
  logEvents,
  readLog,
  readOtherSeconds,
} from '../postgres/statements/events.ts';
import {
  type AvailableTeams,
  type LinkRefusal,
  linkAvailableTeam,
  lockAvailableTeams,
} from '../postgres/statements/lock-teams.ts';
import type { ChangedBy } from '../postgres/statements/plan-changes.ts';
import { readProductNames, storeNamelessProducts } from '../postgres/statements/products.ts';
import {
  readSubscriptions,
  type StoredSubscriptions,
  writeSubscriptions,
} from '../postgres/statements/subscriptions.ts';
import { type LinkedTeam, type PlanWrite, writePlans } from '../postgres/statements/teams.ts';
import { type EventOrigin, type Mode, mismatchOf } from '../stripe/key-kind.ts';
import { parseLogged } from '../stripe/parse-event.ts';
import { teamNamedIn } from '../stripe/subscription-facts.ts';
import { type BatchDecision, decide, type ParsedRow } from './decide.ts';
import type { IngestResult, ReceivedEvent } from './received-event.ts';
import { findParkedCopies, recognize } from './recognize.ts';

type Transaction = { query: Query; atCommit: AtCommit };

type ProcessOptions = {
  planSelection: PlanSelection;
  namesWritten: NamesWritten;
  /** The key of a subscription's metadata that names the team of a customer without one; `null`: none does. */
  linkByMetadata?: string | null;
  /** The mode of the API key; `null`: unknown. */
  keyMode?: Mode | null;
};

/**
 * Where plan names are written: not in teams if the application's column refused one, and nowhere if the database's
 * encoding did.
 */
export type NamesWritten = 'everywhere' | 'not in teams' | 'nowhere';

/** A batch before its commit. */
export type ProcessedBatch = {
  /** In the order of the events. `locked`: not decided, because another transaction has locked the event's team. */
  readonly results: readonly (IngestResult | 'locked')[];
  /** The plans that are written with the commit. */
  readonly writes: readonly PlanWrite<LinkedTeam>[];
  /** The teams that were linked by metadata. */
  readonly linked: readonly LinkedTeam[];
  /** How long it took to lock and to read. */
  readonly readMs: number;
};

type StoredRows = {
  log: readonly LoggedRow[];
  subscriptions: StoredSubscriptions;
};

/**
 * Processes a batch of events within one transaction and two round trips, whatever its size: lock the teams and
 * read what is stored; decide, write and commit. The other seconds of a subscription where its latest state depends on
 * them and missing product names take one more each. A checkout that links its team takes up to four
 * before the lock, and links by metadata take five for each team, and two more, after it. On an app's own pool that
 * does not pipeline, each statement takes one.
 *
 * The lock comes first: the transaction that holds a customer's team decides alone on the customer's events, and
 * reads what the previous holder wrote.
 */
export async function processBatch(
  transaction: Transaction,
  events: readonly ReceivedEvent[],
  options: ProcessOptions,
): Promise<ProcessedBatch> {
  const { query } = transaction;
  const customerIds = customerIdsOf(events);
  const refusedLinks = await linkTeamsOfCheckouts(query, events);
  const startedAtMs = performance.now();
  const [available, storedBefore] = await Promise.all([
    lockAvailableTeams(query, customerIds),
    readStored(query, events, customerIds),
  ]);
  const readMs = performance.now() - startedAtMs;
  const linkable = events.filter((event) => !refusedLinks.has(event));
  const linked = await linkTeamsInMetadata(query, linkable, available, options);
  const teams = [...available.teams, ...linked.teams];
  const lockedElsewhere = new Set([...available.lockedElsewhere, ...linked.lockedElsewhere]);
  // Another transaction can have linked the same customers, and committed, since the state was read.
  const stored =
    linked.teams.length === 0 ? storedBefore : await readStored(query, events, customerIds);
  const withoutDecision = events.map((event): IngestResult | 'locked' | null => {
    const refusal = refusedLinks.get(event);
    if (refusal === 'locked') return 'locked';
    if (refusal !== undefined) return { outcome: 'stale', teamIds: [], linkRefusal: refusal };
    if (event.kind === 'unreadable') return null;
    return lockedElsewhere.has(event.subscription.customerId) ? 'locked' : null;
  });
  const received = events.filter((_, index) => withoutDecision[index] === null);
  const { decision, writes } = await decideAndWrite(teams, stored, transaction, received, options);
  const results: (IngestResult | 'locked')[] = [...decision.results];
  for (const [index, result] of withoutDecision.entries()) {
    if (result !== null) results.splice(index, 0, result);
  }
  return { results, writes, linked: linked.teams, readMs };
}

/** Links the teams of checkouts. Returns the events whose team could not be linked, with the reason. */
async function linkTeamsOfCheckouts(
  query: Query,
  events: readonly ReceivedEvent[],
): Promise<ReadonlyMap<ReceivedEvent, LinkRefusal | 'locked'>> {
  const refusedLinks = new Map<ReceivedEvent, LinkRefusal | 'locked'>();
  for (const event of events) {
    const { linkToTeamId } = event;
    if (linkToTeamId === undefined || event.kind === 'unreadable') continue;
    const result = await linkAvailableTeam(query, linkToTeamId, event.subscription.customerId);
    if (result !== 'linked') refusedLinks.set(event, result);
  }
  return refusedLinks;
}

/**
 * Links customers without a team to the teams that the metadata of their subscriptions names, if those have no
 * customer, and locks them. Where that is not possible, the event waits for a team as without the setting.
 */
async function linkTeamsInMetadata(
  query: Query,
  events: readonly ReceivedEvent[],
  available: AvailableTeams,
  { linkByMetadata: key, keyMode = null }: ProcessOptions,
): Promise<AvailableTeams> {
  if (!key) return { teams: [], lockedElsewhere: new Set() };
  const withTeam = new Set(available.teams.map(({ customerId }) => customerId));
  const namedTeams = [...teamsInMetadata(events, key, keyMode)].filter(
    ([customerId]) => !withTeam.has(customerId) && !available.lockedElsewhere.has(customerId),
  );
  const linked: string[] = [];
  const locked: string[] = [];
  for (const [customerId, teamId] of namedTeams) {
    // The event is stored in any case: only the link is undone if the app refuses it.
    await unlessRefused(query, async () => {
      const result = await linkAvailableTeam(query, teamId, customerId);
      if (result === 'linked') linked.push(customerId);
      if (result === 'locked') locked.push(customerId);
    });
  }
  if (linked.length === 0) return { teams: [], lockedElsewhere: new Set(locked) };
  const { teams, lockedElsewhere } = await lockAvailableTeams(query, linked);
  return { teams, lockedElsewhere: new Set([...locked, ...lockedElsewhere]) };
}

/**
 * The team that each customer's newest event names, the newest first: of two customers that name one team, that one
 * gets it. Only an event that grants a plan counts, so that an ended subscription never takes the team of a later one. The
 * events of another account or mode name nobody's team: others can write metadata there.
 */
function teamsInMetadata(
  events: readonly ReceivedEvent[],
  key: string,
  keyMode: Mode | null,
): ReadonlyMap<string, string> {
  const granting = events
    .flatMap((event) => (event.kind === 'unreadable' ? [] : event))
    .filter((event) => event.kind === 'snapshot' || isOfKey(event.origin, keyMode))
    .filter(({ subscription }) => effectOf(subscription.status) === 'grants')
    .sort((a, b) => b.subscription.createdSeconds - a.subscription.createdSeconds);
  const namedTeams = new Map<string, string>();
  for (const { subscription, object } of granting) {
    const teamId = teamNamedIn(object, key);
    if (teamId !== null && !namedTeams.has(subscription.customerId)) {
      namedTeams.set(subscription.customerId, teamId);
    }
  }
  return namedTeams;
}

const isOfKey = (origin: EventOrigin | undefined, keyMode: Mode | null) =>
  origin === undefined || mismatchOf(origin, keyMode) === null;

/** These statements are sent right behind the lock, and run once it is held. */
async function readStored(
  query: Query,
  events: readonly ReceivedEvent[],
  customerIds: readonly string[],
): Promise<StoredRows> {
  const ranges = tieGroupRanges(events.map(({ key }) => key));
  const [log, subscriptions] = await Promise.all([
    readLog(query, ranges),
    readSubscriptions(query, customerIds),
  ]);
  return { log: log.map(parseRow), subscriptions };
}

/** Sends with the commit (`atCommit`) what is to be written. */
async function decideAndWrite(
  teams: readonly LinkedTeam[],
  stored: StoredRows,
  { query, atCommit }: Transaction,
  received: readonly ReceivedEvent[],
  { planSelection, namesWritten }: ProcessOptions,
) {
  const decision = await decideWithHistory(query, teams, stored, received, planSelection);
  const { events, parkedCopies } = decision;
  const entries = logEntries(events, decision.outcomes, stored.log);
  const plans = await withStoredNames(query, decision.plans);
  const nameless = productsWithoutName(plans);
  const writes = writesOf(teams, plans, changedByEvents(events, decision.results));
  if (entries.length > 0) atCommit(logEvents(query, entries));
  if (parkedCopies.size > 0) {
    const lockedCustomerIds = teams.map(({ customerId }) => customerId);
    atCommit(deleteParkedCopies(query, parkedCopies, lockedCustomerIds));
  }
  if (decision.decidingEvents.length > 0 || decision.latestStates.length > 0) {
    const { decidingEvents, latestStates } =
      namesWritten === 'nowhere' ? withoutPlanNames(decision) : decision;
    atCommit(writeSubscriptions(query, decidingEvents, latestStates));
  }
  if (decision.possiblyDoubleBilled.length > 0) {
    atCommit(storeDoubleBilled(query, decision.possiblyDoubleBilled));
  }
  if (writes.length > 0) {
    atCommit(writePlans(query, writes, namesWritten === 'everywhere'));
  }
  if (nameless.length > 0) atCommit(storeNamelessProducts(query, nameless));
  return { decision, writes };
}

/** Decides on a batch, and again with what only a decision shows to be needed, which few batches are. */
async function decideWithHistory(
  query: Query,
  teams: readonly LinkedTeam[],
  { log, subscriptions }: StoredRows,
  received: readonly ReceivedEvent[],
  planSelection: PlanSelection,
) {
  function decideWith(rows: readonly LoggedRow[]) {
    const parkedCopies = findParkedCopies(rows);
    const events = recognize(received, rows);
    const logged = rows.filter(({ key }) => !parkedCopies.has(key));
    const stored = { ...subscriptions, teams, logged };
    return { parkedCopies, events, ...decide(events, stored, planSelection) };
  }

  let rows: readonly LoggedRow[] = log;
  let decision = decideWith(rows);
  const { needOtherSeconds } = decision;
  if (needOtherSeconds.length > 0) {
    const others = await readOtherSeconds(query, needOtherSeconds);
    rows = [...log, ...others.map(parseRow)].sort(byPosition);
    decision = decideWith(rows);
  }
  return decision;
}

function byPosition(a: LoggedEvent, b: LoggedEvent): number {
  return a.position - b.position;
}

type LoggedRow = LoggedEvent & ParsedRow;

function parseRow(row: LoggedEvent): LoggedRow {
  return { ...row, parsed: parseLogged(row) };
}

type Plans = BatchDecision['plans'];

/**
 * Adds stored names. An event can decide a team's plan that is not in the batch, or that the log has in another
 * API version, and only the names that the batch's events need were looked up.
 */
async function withStoredNames(query: Query, plans: Plans): Promise<Plans> {
  const nameless = productsWithoutName(plans);
  if (nameless.length === 0) return plans;
  const names = await readProductNames(query, nameless);
  const nameOf = ({ planName, providerProductId }: TeamPlan) =>
    planName ?? (providerProductId && names.get(providerProductId)) ?? null;
  return new Map([...plans].map(([teamId, plan]) => [teamId, { ...plan, planName: nameOf(plan) }]));
}

function withoutPlanNames({ decidingEvents, latestStates }: BatchDecision) {
  const withoutPlanName = (subscription: SubscriptionState) => ({
    ...subscription,
    planName: null,
  });
  return {
    decidingEvents: decidingEvents.map(({ subscription, order }) => {
      return { subscription: withoutPlanName(subscription), order };
    }),
    latestStates: latestStates.map(({ subscription, ...state }) => {
      return { subscription: withoutPlanName(subscription), ...state };
    }),
  };
}

function writesOf(
  teams: readonly LinkedTeam[],
  plans: Plans,
  changedByEvent: ReadonlyMap<string, ChangedBy>,
): PlanWrite<LinkedTeam>[] {
  return teams.flatMap((team) => {
    const shouldBe = plans.get(team.id);
    if (shouldBe === undefined) return [];
    const changedBy = changedByEvent.get(team.customerId);
    // An empty row was linked, recreated or added after the customer's events.
    return [{ team, shouldBe, changedBy: changedBy ?? { cause: 'link' } }];
  });
}

/** By customer, the last event that was applied. */
function changedByEvents(
  events: readonly ReceivedEvent[],
  results: BatchDecision['results'],
): Map<string, ChangedBy> {
  const changedBy = new Map<string, ChangedBy>();
  for (const [index, event] of events.entries()) {
    if (event.kind === 'unreadable' || results[index]?.outcome !== 'applied') continue;
    const { eventId, operator = null, subscription } = event;
    const { customerId, createdSeconds: eventCreatedSeconds } = subscription;
    const cause = event.changeCause ?? (event.kind === 'snapshot' ? 'snapshot' : 'event');
    changedBy.set(customerId, { cause, eventId, eventCreatedSeconds, operator });
  }
  return changedBy;
}

function productsWithoutName(plans: Plans): string[] {
  const productIds = new Set<string>();
  for (const { providerProductId, planName } of plans.values()) {
    if (providerProductId !== null && planName === null) productIds.add(providerProductId);
  }
  return [...productIds];
}

/** One entry for each event to log, with its first receipt, however often it occurs in the batch. */
function logEntries(
  events: readonly ReceivedEvent[],
  outcomes: ReadonlyMap<string, LogEntry['outcome']>,
  rows: readonly LoggedRow[],
): LogEntry[] {
  const parked = new Map(
    rows.filter(({ outcome }) => outcome === 'parked').map((event) => [event.key, event]),
  );
  const entries = new Map<string, LogEntry>();
  for (const event of events) {
    const outcome = outcomes.get(event.key);
    if (outcome === undefined) continue;
    const entry = logEntry(event, outcome, parked.get(event.key));
    const firstEntry = entries.get(event.key);
    const deliveries = (firstEntry?.deliveries ?? 0) + entry.deliveries;
    entries.set(event.key, firstEntry === undefined ? entry : { ...firstEntry, deliveries });
  }
  return [...entries.values()];
}

function logEntry(
  event: ReceivedEvent,
  outcome: LogEntry['outcome'],
  parked: LoggedRow | undefined,
): LogEntry {
  const { key, eventId, type, body } = event;
  const { receivedAtMs } = parked ?? event;
  const subscription =
    parked?.parsed?.subscription ?? (event.kind === 'unreadable' ? null : event.subscription);
  return {
    position: parked?.position ?? null,
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

function customerIdsOf(events: readonly ReceivedEvent[]): string[] {
  const customerIds = new Set<string>();
  for (const event of events) {
    if (event.kind !== 'unreadable') customerIds.add(event.subscription.customerId);
  }
  return [...customerIds];
}
