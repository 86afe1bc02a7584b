// Compares the teams of one customer with Stripe, and repairs and reports what differs: for a person, an app, catch-up, the
// job that asks Stripe, and a comparison of all teams.

import type { LogEvent } from '../../log/log-event.ts';
import type { ApplicationId } from '../../postgres/application.ts';
import type { Query } from '../../postgres/database.ts';
import { canOthersSucceed, DatabaseBusy } from '../../postgres/errors.ts';
import { readStates } from '../../postgres/statements/customers.ts';
import { ISSUE_CAUSES, storeIssues } from '../../postgres/statements/issues.ts';
import { readProductNames } from '../../postgres/statements/products.ts';
import { type LinkedTeam, readTeamsOf } from '../../postgres/statements/teams.ts';
import type { CustomerState } from '../../rule/customer-state.ts';
import { hasPlan, isSamePlan } from '../../rule/plan.ts';
import type { PlanInRow } from '../../rule/plan-fields.ts';
import { planWriterOf } from '../../rule/plan-writer.ts';
import { ENDED_STATUSES, effectOf } from '../../rule/status.ts';
import { type ListedSubscription, makeSnapshot } from '../../stripe/subscription-snapshot.ts';
import { storeAnswered } from '../asked-customers.ts';
import {
  customerIssue,
  type DatedSubscription,
  type Drift,
  driftOf,
  foundIssueOf,
  hasRightPlan,
  reconciliationIssueOf,
} from './drift.ts';
import { type CustomerListing, listCustomer } from './listed-subscriptions.ts';
import type { Counts, ReconcileOptions, ReconcileServices } from './progress.ts';

export type CompareOptions = ReconcileOptions & {
  /**
   * Leaves a customer without subscriptions alone: it has just got its team, and the app can know a subscription that Stripe
   * does not list yet.
   */
  readonly isNew?: boolean;
};

/** What is known of a customer: `teams`, as they were before Stripe was asked, and what it has answered. */
export type Answered = {
  readonly customerId: string;
  readonly teams: readonly LinkedTeam[];
  readonly askedAtMs: number;
  readonly listed: CustomerListing | null;
};

/** Asks Stripe about a customer, and compares its teams with the answer. */
export async function compareCustomer(
  customerId: string,
  options: CompareOptions,
  signal: AbortSignal,
): Promise<Partial<Counts>> {
  const askedAtMs = options.now();
  const teams = await readTeamsOf(options.database.query, [customerId]);
  const listed = await listCustomer(customerId, options, signal);
  return await compareAnswer({ customerId, teams, askedAtMs, listed }, options, signal);
}

/** Compares, repairs unless it is a dry run, reports, and stores that Stripe has answered. */
export async function compareAnswer(
  { customerId, teams: before, askedAtMs, listed }: Answered,
  options: CompareOptions,
  signal: AbortSignal,
): Promise<Partial<Counts>> {
  const { database, onIssue, isNew = false } = options;
  const { query } = database;
  if (listed === null) {
    const unknown = await unknownAmong(before, customerId, options, signal);
    for (const { id: teamId } of unknown) onIssue({ kind: 'unknown customer', teamId, customerId });
    const issues = unknown.map(({ id }) => customerIssue('unknown customer', customerId, id));
    await storeIssues(query, [customerId], issues);
    await storeAnswered(query, [customerId], askedAtMs);
    return { teams: before.length, unknownCustomers: unknown.length };
  }
  const { subscriptions, unreadable } = listed;
  if (isNew && subscriptions.length === 0) {
    await storeIssues(query, [customerId], [], ['unknown customer']);
    await storeAnswered(query, [customerId], askedAtMs);
    return {};
  }
  const found = await compareWith(customerId, before, listed, options);
  await storeAnswered(query, [customerId], askedAtMs);
  const counts = { ...found, subscriptions: subscriptions.length, unreadable };
  const statuses = goingOn(subscriptions);
  if (before.length > 0 || statuses.length === 0) return counts;
  await reportTeamless([{ customerId, statuses }], options);
  return { ...counts, customersWithoutTeam: 1 };
}

/** The statuses of the subscriptions that have not ended. */
export function goingOn(subscriptions: readonly ListedSubscription[]): string[] {
  return subscriptions.flatMap(({ endedSeconds, status }) =>
    endedSeconds === null && !ENDED_STATUSES.includes(status) ? status : [],
  );
}

/** Reports customers with a subscription that goes on, and without a team. */
export async function reportTeamless(
  customers: readonly { readonly customerId: string; readonly statuses: readonly string[] }[],
  { database: { query }, onIssue }: Pick<ReconcileOptions, 'database' | 'onIssue'>,
): Promise<void> {
  for (const customer of customers) onIssue({ kind: 'customer without a team', ...customer });
  const customerIds = customers.map(({ customerId }) => customerId);
  const issues = customerIds.map((id) => customerIssue('customer without a team', id, null));
  await storeIssues(query, customerIds, issues);
}

/** Those of the teams for which it is an issue. Nothing is wrong with one without a plan if the customer was deleted. */
async function unknownAmong(
  teams: readonly LinkedTeam[],
  customerId: string,
  { api }: Pick<ReconcileServices, 'api'>,
  signal: AbortSignal,
): Promise<LinkedTeam[]> {
  if (teams.every(({ plan }) => hasPlan(plan))) return [...teams];
  const isDeleted = (await api.retrieveCustomer(customerId, signal))?.isDeleted ?? false;
  return teams.filter(({ plan }) => !isDeleted || hasPlan(plan));
}

/** Finds the drifts of a customer's teams, repairs them unless it is a dry run, and reports them. */
async function compareWith(
  customerId: string,
  before: readonly LinkedTeam[],
  listed: CustomerListing,
  options: ReconcileOptions,
): Promise<Partial<Counts>> {
  const { database, isDryRun, onIssue } = options;
  const isAsBefore = ({ team }: Drift) =>
    before.some(({ id, plan }) => id === team.id && isSamePlan(plan, team.plan));
  // The app or an event has just written another row, of which the list can know nothing.
  const drifts = (await findDrifts(customerId, listed, options)).drifts.filter(isAsBefore);
  const refused = new Set<ApplicationId>();
  let now: Found = { drifts, teams: before };
  if (!isDryRun) {
    for (const drift of drifts) if (await repair(drift, options)) refused.add(drift.team.id);
    await ingestOtherStatuses(customerId, listed.subscriptions, options);
    if (drifts.length > 0) now = await findDrifts(customerId, listed, options);
  }
  const isLeft = ({ team }: Drift) => now.drifts.some((one) => one.team.id === team.id);
  // The others were deleted, or have another customer now.
  const there = drifts.filter(({ team }) => now.teams.some(({ id }) => id === team.id));
  for (const drift of there) onIssue(reconciliationIssueOf(drift, !isDryRun && !isLeft(drift)));
  const wrong = there.filter((drift) => !hasRightPlan(drift));
  const unrepaired = wrong.filter((drift) => isDryRun || isLeft(drift));
  await storeIssues(
    database.query,
    [customerId],
    unrepaired.map((drift) => foundIssueOf(drift, refused.has(drift.team.id))),
    // Only a repair shows whether the database still refuses a plan.
    ISSUE_CAUSES.filter((cause) => !isDryRun || cause !== 'plan refused'),
  );
  return {
    teams: before.length,
    drifts: wrong.length,
    repaired: wrong.length - unrepaired.length,
    unrecorded: there.length - wrong.length,
  };
}

type Found = { readonly teams: readonly LinkedTeam[]; readonly drifts: readonly Drift[] };

/** Compares the teams of a customer and its subscriptions, both at one moment, with what Stripe lists. */
async function findDrifts(
  customerId: string,
  { subscriptions, unreadable }: CustomerListing,
  options: ReconcileOptions,
): Promise<Found> {
  const { database, planSelection, now } = options;
  const names = await namesOf(subscriptions, options);
  return await database.transaction(
    async (query) => {
      const teams = await readTeamsOf(query, [customerId]);
      const stored = await readStates(query, [customerId]);
      const allNames = new Map([...stored.names, ...names]);
      const found = { planSelection, names: allNames, nowMs: now() };
      const drifts = teams.flatMap(
        (team) => driftOf(team, stored.of(customerId), subscriptions, found) ?? [],
      );
      const isListed = ({ team }: Drift) =>
        subscriptions.some(
          ({ subscriptionId }) => subscriptionId === team.plan.providerSubscriptionId,
        );
      // The row's subscription can be the one that can't be read.
      return { teams, drifts: unreadable === 0 ? drifts : drifts.filter(isListed) };
    },
    { isolation: 'repeatable read' },
  );
}

/**
 * Ingests what Stripe lists as snapshots, so that newer events win. If that leaves a wrong plan in the row, something
 * else has written it: the plan that follows from the events replaces it. Returns whether the database refused the plan.
 */
async function repair(drift: Drift, options: ReconcileOptions): Promise<boolean> {
  const { team, toIngest } = drift;
  const { ingest, logger } = options;
  try {
    if (toIngest.length > 0) await ingest(toIngest.flatMap((dated) => snapshotOf(dated, options)));
    if (!hasRightPlan(drift)) await replacePlan(team, options);
  } catch (err) {
    // A constraint of the application refused it, or the team is locked. The other teams are still repaired.
    if (!canOthersSucceed(err)) throw err;
    logger.error({ teamId: team.id, err }, 'drift not repaired');
    return !(err instanceof DatabaseBusy);
  }
  return false;
}

/** Replaces the plan of a team, unless its row has changed since, or the application gave the plan away. */
async function replacePlan(
  { customerId, plan }: LinkedTeam,
  { database: { query }, settle }: ReconcileOptions,
): Promise<void> {
  const { of, names } = await readStates(query, [customerId]);
  const isReplaced = (is: PlanInRow) =>
    isSamePlan(is, plan) && planWriterOf(is, of(customerId)) !== 'app';
  if (!(await settle(customerId, { cause: 'repair', names, isReplaced }))) {
    throw new DatabaseBusy('the team is locked, or an event has just arrived');
  }
}

/** Ingests the statuses that change no plan, and so are no drift. They count for the access. */
async function ingestOtherStatuses(
  customerId: string,
  listed: readonly ListedSubscription[],
  { database, ingest, logger, ...options }: ReconcileOptions,
): Promise<void> {
  const state = (await readStates(database.query, [customerId])).of(customerId);
  for (const subscription of listed.filter((one) => isMissedStatus(one, state))) {
    const { endedSeconds, asOfSeconds } = subscription;
    const dated = { listed: subscription, seconds: endedSeconds ?? asOfSeconds };
    try {
      await ingest(snapshotOf(dated, options));
    } catch (err) {
      // As in a repair: the others are still ingested.
      if (!canOthersSucceed(err)) throw err;
      logger.error({ customerId, err }, 'status not applied');
    }
  }
}

/** Whether the subscription has a status that changes no plan, and that no event has reported. */
export function isMissedStatus(
  { subscriptionId, status, asOfSeconds }: ListedSubscription,
  { subscriptions }: CustomerState,
): boolean {
  if (effectOf(status) !== 'none') return false;
  const known = subscriptions.get(subscriptionId)?.latest.reported;
  // One that ended before it was paid, and before we knew of it, matters to no team.
  if (known === undefined) return !ENDED_STATUSES.includes(status);
  return known.status !== status && known.createdSeconds <= asOfSeconds;
}

/** What Stripe listed as an event for the ingest pipeline; none if it can't be read. */
export function snapshotOf(
  { listed, seconds }: DatedSubscription,
  { now, nonce }: Pick<ReconcileServices, 'now' | 'nonce'>,
): LogEvent[] {
  const dated = { createdSeconds: seconds, seenKeys: null, takenAtMs: now(), nonce };
  const snapshot = makeSnapshot(listed.object, dated);
  return snapshot === null ? [] : [{ ...snapshot, changeCause: 'repair' }];
}

/** The names of the listed products, from our table or from Stripe. */
async function namesOf(
  listed: readonly ListedSubscription[],
  { database, nameOf }: Pick<ReconcileServices, 'nameOf'> & { database: { query: Query } },
): Promise<Map<string, string>> {
  const granted = listed.filter(({ status }) => effectOf(status) === 'grants');
  const productIds = [...new Set(granted.flatMap(({ productId }) => productId ?? []))];
  const names = await readProductNames(database.query, productIds);
  for (const productId of productIds) {
    const name = names.get(productId) ?? (await nameOf(productId));
    if (name !== null) names.set(productId, name);
  }
  return names;
}
