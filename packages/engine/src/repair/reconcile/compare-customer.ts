// Compares the teams of one customer with Stripe, and repairs and reports what differs: for a person, an app, catch-up, the
// job that asks Stripe, and a comparison of all teams.

import * as v from 'valibot';
import type { LogEvent } from '../../log/log-event.ts';
import type { Ingest, Settle } from '../../log/pipeline.ts';
import type { NameOf } from '../../log/product-names.ts';
import type { Database, Query } from '../../postgres/database.ts';
import { canOthersSucceed, DatabaseBusy } from '../../postgres/errors.ts';
import { readStates } from '../../postgres/statements/customers.ts';
import { ISSUE_CAUSES, storeIssues } from '../../postgres/statements/issues.ts';
import { readProductNames } from '../../postgres/statements/products.ts';
import { type LinkedTeam, readTeamsOf } from '../../postgres/statements/teams.ts';
import type { CustomerState } from '../../rule/customer-state.ts';
import { hasPlan, isSamePlan } from '../../rule/plan.ts';
import type { PlanInRow } from '../../rule/plan-fields.ts';
import type { PlanSelection } from '../../rule/plan-selection.ts';
import { planWriterOf } from '../../rule/plan-writer.ts';
import { effectOf } from '../../rule/status.ts';
import type { Logger } from '../../runtime/logging.ts';
import type { StripeApi } from '../../stripe/api.ts';
import { type ListedSubscription, makeSnapshot } from '../../stripe/subscription-snapshot.ts';
import { storeAnswered } from '../asked-customers.ts';
import {
  type Comparison,
  compare,
  type DatedSubscription,
  type Drift,
  isAlive,
  type ReconciliationIssue,
} from './drift.ts';
import { byCustomer, type Listing, listCustomer } from './listed-subscriptions.ts';

export type ReconcileServices = {
  readonly database: Database;
  readonly ingest: Ingest;
  readonly settle: Settle;
  readonly api: Pick<StripeApi, 'listSubscriptions' | 'retrieveCustomer'>;
  readonly nameOf: NameOf;
  readonly planSelection: PlanSelection;
  readonly logger: Logger;
  readonly now: () => number;
  readonly nonce: () => string;
};

export type ReconcileOptions = ReconcileServices & {
  /** Reports drift without repairing it. */
  readonly isDryRun: boolean;
  readonly onIssue: (issue: ReconciliationIssue) => void;
  /**
   * Leaves a customer without subscriptions alone: it has just got its team, and the app can know a subscription that Stripe
   * does not list yet.
   */
  readonly isNew?: boolean;
  /** How often all teams are compared. */
  readonly intervalMs?: number;
};

const count = v.optional(v.pipe(v.number(), v.integer()), 0);

/** What a comparison has listed, compared, found and repaired. */
export const countsShape = v.object({
  subscriptions: count,
  unreadable: count,
  teams: count,
  drifts: count,
  repaired: count,
  customersWithoutTeam: count,
  unknownCustomers: count,
});

export type Counts = v.InferOutput<typeof countsShape>;

export const NOTHING_COUNTED = v.parse(countsShape, {});

/** What is known of a customer: `teams`, as they were before Stripe was asked, and what it has answered. */
export type Answered = {
  readonly customerId: string;
  readonly teams: readonly LinkedTeam[];
  readonly askedAtMs: number;
  readonly listed: Listing | null;
};

/** Asks Stripe about a customer, and compares its teams with the answer. */
export async function compareCustomer(
  customerId: string,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<Answered> {
  const askedAtMs = options.now();
  const teams = await readTeamsOf(options.database.query, [customerId]);
  const listed = await listCustomer(customerId, options, signal);
  const answered = { customerId, teams, askedAtMs, listed };
  await compareAnswer(answered, options, signal);
  return answered;
}

/** Compares, repairs unless it is a dry run, reports, and stores that Stripe has answered. */
export async function compareAnswer(
  { customerId, teams, listed, askedAtMs }: Answered,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<void> {
  if (listed === null) await reportUnknown(customerId, teams, options, signal);
  else await compareWith(customerId, teams, listed, options);
  await storeAnswered(options.database.query, [customerId], askedAtMs);
}

/**
 * Reports the teams of a customer that Stripe does not know. Nothing is wrong with one without a plan if the customer was
 * deleted.
 */
async function reportUnknown(
  customerId: string,
  teams: readonly LinkedTeam[],
  { api, database, onIssue }: ReconcileOptions,
  signal: AbortSignal,
): Promise<void> {
  const isDeleted =
    !teams.every(({ plan }) => hasPlan(plan)) &&
    (await api.retrieveCustomer(customerId, signal))?.isDeleted;
  const unknown = teams.filter(({ plan }) => !isDeleted || hasPlan(plan));
  const found = unknown.map(({ id: teamId }) => ({ teamId, customerId }));
  for (const one of found) onIssue({ kind: 'unknown customer', ...one });
  const issues = found.map((one) => ({ cause: 'unknown customer', ...one }) as const);
  await storeIssues(database.query, [customerId], issues);
}

/** Reports the customers of subscriptions that go on, who have no team. Returns who they are. */
export async function reportTeamless(
  listed: readonly ListedSubscription[],
  { database: { query }, onIssue }: Pick<ReconcileOptions, 'database' | 'onIssue'>,
): Promise<readonly string[]> {
  const teamless = byCustomer(listed.filter(isAlive));
  for (const [customerId, own] of teamless) {
    const statuses = own.map(({ status }) => status);
    onIssue({ kind: 'customer without a team', customerId, statuses });
  }
  const customerIds = [...teamless.keys()];
  const cause = 'customer without a team';
  const issues = customerIds.map((customerId) => ({ cause, teamId: null, customerId }) as const);
  await storeIssues(query, customerIds, issues);
  return customerIds;
}

/** Finds the drifts of a customer's teams, repairs them unless it is a dry run, and reports them. */
async function compareWith(
  customerId: string,
  before: readonly LinkedTeam[],
  listed: Listing,
  options: ReconcileOptions,
): Promise<void> {
  const { database, isDryRun, onIssue, isNew = false } = options;
  const { subscriptions } = listed;
  if (isNew && subscriptions.length === 0) {
    await storeIssues(database.query, [customerId], [], ['unknown customer']);
    return;
  }
  const names = await namesOf(subscriptions, options);
  const found = await findDrifts(customerId, listed, names, options);
  // The app or an event has just written another row, of which the list can know nothing.
  const isChanged = found.teams.some(
    ({ id, plan }) => !before.some((team) => team.id === id && isSamePlan(team.plan, plan)),
  );
  if (isChanged) return;
  const tried = isDryRun ? null : await repair(customerId, found, names, options);
  const isWritten = !isDryRun && found.drifts.length > 0;
  const now = isWritten ? await findDrifts(customerId, listed, names, options) : found;
  const leftOf = ({ teamId }: Drift) => now.drifts.find((one) => one.teamId === teamId);
  // The others were deleted, or have another customer now.
  const drifts = found.drifts.filter(({ teamId }) => now.teams.some(({ id }) => id === teamId));
  for (const drift of drifts) {
    onIssue({ kind: 'drift', ...drift, isRepaired: isWritten && leftOf(drift) === undefined });
  }
  const left = drifts.flatMap((drift) => leftOf(drift) ?? []);
  const issues = left.map(({ is: plan, sinceSeconds: beganSeconds, ...drift }) => {
    // If only the name was not written, the application refuses it.
    const isNameRefused = tried === 'done' && drift.cause === 'another plan name';
    const cause = isNameRefused || tried === 'refused' ? 'plan refused' : drift.cause;
    return { ...drift, plan, beganSeconds, cause } as const;
  });
  // Only a repair shows whether the database still refuses a plan.
  const causes = ISSUE_CAUSES.filter((cause) => !isDryRun || cause !== 'plan refused');
  await storeIssues(database.query, [customerId], issues, causes);
  if (before.length === 0) await reportTeamless(subscriptions, options);
}

type Names = ReadonlyMap<string, string>;

/** Compares the teams of a customer and its subscriptions, both at one moment, with what Stripe lists. */
async function findDrifts(
  customerId: string,
  { subscriptions: listed, unreadable }: Listing,
  names: Names,
  { database, planSelection, now }: ReconcileOptions,
): Promise<Comparison & { readonly teams: readonly LinkedTeam[] }> {
  return await database.transaction(
    async (query) => {
      const teams = await readTeamsOf(query, [customerId]);
      const stored = await readStates(query, [customerId]);
      const rules = { planSelection, names: new Map([...stored.names, ...names]), nowMs: now() };
      const found = compare({ teams, state: stored.of(customerId), listed }, rules);
      // The row's subscription can be the one that can't be read.
      const isListed = ({ is }: Drift) =>
        listed.some(({ subscriptionId }) => subscriptionId === is.providerSubscriptionId);
      const drifts = unreadable === 0 ? found.drifts : found.drifts.filter(isListed);
      return { ...found, teams, drifts };
    },
    { isolation: 'repeatable read' },
  );
}

/**
 * Ingests what Stripe lists as snapshots, so that newer events win. If that leaves a wrong plan in a row, something else has
 * written it: the plan that follows from the events replaces it.
 */
async function repair(
  customerId: string,
  { drifts, missed, statuses }: Comparison,
  names: Names,
  { ingest, settle, logger, ...options }: ReconcileOptions,
): Promise<'done' | 'locked' | 'refused'> {
  const snapshots = [...missed, ...statuses].flatMap((one) => snapshotOf(one, options));
  // Unless the row has changed since, or the application gave the plan away.
  const isReplaced = (plan: PlanInRow, state: CustomerState) =>
    drifts.some(({ is }) => isSamePlan(is, plan)) && planWriterOf(plan, state) !== 'app';
  try {
    if (snapshots.length > 0) await ingest(snapshots);
    if (drifts.length === 0) return 'done';
    const isSettled = await settle(customerId, { cause: 'repair', names, isReplaced });
    return isSettled ? 'done' : 'locked';
  } catch (err) {
    // A constraint of the application refused it, or the team is locked. Other customers are still repaired.
    if (!canOthersSucceed(err)) throw err;
    logger.error({ customerId, err }, 'drift not repaired');
    return err instanceof DatabaseBusy ? 'locked' : 'refused';
  }
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
): Promise<Names> {
  const granted = listed.filter(({ status }) => effectOf(status) === 'grants');
  const productIds = [...new Set(granted.flatMap(({ productId }) => productId ?? []))];
  const names = await readProductNames(database.query, productIds);
  for (const productId of productIds) {
    const name = names.get(productId) ?? (await nameOf(productId));
    if (name !== null) names.set(productId, name);
  }
  return names;
}
