// Compares all teams with Stripe, or those of one customer: for a command, an operator, a job of maintenance, and catch-up.

import type { ApplicationId } from '../../postgres/application.ts';
import type { Query } from '../../postgres/database.ts';
import { pagesOf } from '../../postgres/examine.ts';
import { deleteOldIssues, storeIssues } from '../../postgres/statements/issues.ts';
import { readPaidWithoutPlan } from '../../postgres/statements/paid-without-plan.ts';
import { type LinkedTeam, readLinkedTeams, readTeamsOf } from '../../postgres/statements/teams.ts';
import { DeadlineExceeded } from '../../runtime/deadline.ts';
import { Stopped } from '../../runtime/retry.ts';
import { idOf } from '../../stripe/api.ts';
import { StripeApiFailed } from '../../stripe/api-failure.ts';
import type { ListedSubscription } from '../../stripe/subscription-snapshot.ts';
import { type LeasedRun, readLeasedJob, withLease } from '../lease.ts';
import { storeAnswered } from '../questions.ts';
import { readPages } from '../stripe-calls.ts';
import type { Job } from '../worker.ts';
import { customerIssue, type ReconciliationIssue } from './drift.ts';
import {
  deleteListed,
  listCustomer,
  readListed,
  readListings,
  readTeamlessCustomers,
  readUnlistedTeams,
  storeListed,
  storeListedCustomers,
} from './listed-subscriptions.ts';
import {
  added,
  type Counts,
  NOTHING_COUNTED,
  type Progress,
  type ReconcileOptions,
  type ReconcileServices,
  ReconciliationFailed,
  startOf,
} from './progress.ts';
import { reconcileTeams, storeUnknown, unknownAmong } from './reconcile-teams.ts';

const JOB = 'reconcile';

/**
 * Reconciles all teams now.
 *
 * @throws ReconciliationFailed
 */
export async function reconcile(options: ReconcileOptions, signal: AbortSignal): Promise<Counts> {
  const { database, nonce } = options;
  const lease = { name: JOB, holder: nonce(), dueAfterMs: 0 };
  const counts = await explainFailure(
    withLease(database.query, lease, (run) => reconcileAll(run, options, signal)),
  );
  if (counts !== null) return counts;
  throw new ReconciliationFailed(
    'RECONCILIATION_RUNNING',
    'another reconciliation is running: try again when it has finished, or 2 minutes after its process was killed',
  );
}

/** Reconciles all teams at an interval, and logs what was found and repaired. */
export function createReconcileJob(services: ReconcileServices, intervalMs: number): Job['run'] {
  const { database, logger, nonce } = services;
  const onIssue = ({ kind, ...issue }: ReconciliationIssue) =>
    logger[kind === 'unrecorded' ? 'info' : 'warn'](issue, kind);
  const options = {
    ...{ ...services, intervalMs, onIssue },
    isDryRun: false,
    canResume: true,
  };
  const lease = { name: JOB, holder: nonce(), dueAfterMs: intervalMs };

  return async (signal) => {
    const counts = await withLease(database.query, lease, (run) =>
      reconcileAll(run, options, signal),
    );
    if (counts !== null) logger.info(counts, 'reconciled');
  };
}

/**
 * Whether a reconciliation of all teams has been completed. One that failed counts too, for example because the key
 * lacks permission, since it must not hold up anything that waits for it.
 */
export async function hasCompared(query: Query): Promise<boolean> {
  const job = await readLeasedJob(query, JOB);
  if (job === null || job.startedAtMs === null) return false;
  return !job.isHeld || job.endedAtMs !== null;
}

const TEAMS_AT_ONCE = 500;

/**
 * Reconciles all teams: stores Stripe's list of subscriptions page by page, and compares the teams when the
 * list is complete. A customer's subscriptions can be on different pages, and comparing with only some of
 * them would take away a plan that is paid for.
 *
 * @throws Stopped, DeadlineExceeded, StripeApiFailed or ReconciliationFailed
 */
export async function reconcileAll(
  run: LeasedRun,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<Counts> {
  const { database, now } = options;
  const { query } = database;
  const { listSubscriptions } = options.api;
  let progress = startOf(run.progress, { ...options, nowMs: now() });

  async function save(next: Partial<Progress>, found: Partial<Counts>): Promise<void> {
    progress = { ...progress, ...next, counts: added(progress.counts, found) };
    await run.saveProgress(progress);
  }

  // Makes it possible to resume even if it is interrupted before the first page.
  await save({}, {});
  if (progress.phase === 'listing') {
    const { cursor } = progress;
    if (cursor === null) await deleteListed(query);
    for await (const page of readListings({ listSubscriptions, cursor, now, signal })) {
      const subscriptions = await storeListed(query, page.subscriptions);
      const phase = page.cursor === null ? 'comparing' : 'listing';
      await save({ cursor: page.cursor, phase }, { subscriptions, unreadable: page.unreadable });
    }
  }

  for (;;) {
    if (signal.aborted) throw new Stopped();
    const page = { afterId: progress.afterTeamId, limit: TEAMS_AT_ONCE };
    const { found: teams, examinedTo } = await readLinkedTeams(query, page);
    const customerIds = teams.map(({ customerId }) => customerId);
    const listed = await readListed(query, customerIds);
    const listedIds = new Set(listed.map(({ customerId }) => customerId));
    const withListed = teams.filter(({ customerId }) => listedIds.has(customerId));
    const found = await reconcileTeams(withListed, listed, options, signal);
    await storeAnswered(query, [...listedIds], progress.startedAtMs);
    // After the last page, only the teams that were added meanwhile are left.
    await save({ afterTeamId: examinedTo ?? teams.at(-1)?.id ?? progress.afterTeamId }, found);
    if (examinedTo === null) break;
  }

  // Stops if another instance has taken over.
  const onPage = () => save({}, {});
  const { startedAtMs } = progress;
  const counts = [
    await findCustomersWithoutTeam(options),
    await compareUnlistedTeams(startedAtMs, options, onPage, signal),
    await findPaidWithoutPlan(options),
  ].reduce(added, progress.counts);
  // Before the list is deleted, which is in use if another instance has taken over.
  const completed = { startedAtMs, endedAtMs: now(), teams: counts.teams };
  await run.complete({ ...progress, counts, completed, phase: 'done' });
  await deleteListed(query);
  await deleteOldIssues(query);
  return counts;
}

/** Finds customers with a subscription that no team has. */
async function findCustomersWithoutTeam({
  database: { query },
  onIssue,
}: ReconcileOptions): Promise<Partial<Counts>> {
  let customersWithoutTeam = 0;
  const read = (afterId: string | null) => readTeamlessCustomers(query, afterId);
  for await (const found of pagesOf(read)) {
    for (const customer of found) onIssue({ kind: 'customer without a team', ...customer });
    const customerIds = found.map(({ customerId }) => customerId);
    const issues = customerIds.map((customerId) =>
      customerIssue('customer without a team', customerId, null),
    );
    await storeIssues(query, customerIds, issues);
    customersWithoutTeam += found.length;
  }
  return { customersWithoutTeam };
}

/** Finds teams without a plan whose customers pay: of one customer, or of all. */
async function findPaidWithoutPlan(
  { database: { query }, onIssue }: ReconcileOptions,
  customerId?: string,
): Promise<Partial<Counts>> {
  let paidWithoutPlan = 0;
  const read = async (afterId: string | null) => {
    const page = { customerId, afterCustomerId: afterId ?? '', limit: TEAMS_AT_ONCE };
    const found = await readPaidWithoutPlan(query, page);
    return { found, examinedTo: found.at(-1)?.customerId ?? null };
  };
  for await (const found of pagesOf(read)) {
    for (const { sinceMs: _, ...team } of found) onIssue({ kind: 'paid without a plan', ...team });
    paidWithoutPlan += found.length;
  }
  return { paidWithoutPlan };
}

/** With more, the key belongs to another account. */
const MAX_ASKED = 100;

/**
 * Compares the teams whose customer has no listed subscription, and finds those whose customer Stripe does not know.
 * For the latter it reads the list of all customers, because many have no subscription. The lists leave out the
 * customers of test clocks, so Stripe is then asked about each one that is left.
 */
async function compareUnlistedTeams(
  startedAtMs: number,
  options: ReconcileOptions,
  onPage: () => Promise<void>,
  signal: AbortSignal,
): Promise<Counts> {
  const { query } = options.database;
  await storeUnlistedCustomers(options, onPage, signal);
  let counts = NOTHING_COUNTED;
  let toAsk = MAX_ASKED;
  for await (const page of unlistedTeams(query)) {
    const listed: ListedSubscription[] = [];
    const unknown = new Set<LinkedTeam>();
    let unreadable = 0;
    for (const team of page) {
      if (team.isKnown) continue;
      toAsk -= 1;
      const own = toAsk < 0 ? null : await listCustomer(team.customerId, options, signal);
      const isAsked = own === null && toAsk >= 0;
      const isRight = isAsked && (await unknownAmong([team], options, signal)).length === 0;
      if (own === null && !isRight) unknown.add(team);
      listed.push(...(own?.subscriptions ?? []));
      unreadable += own?.unreadable ?? 0;
    }
    const known = page.filter((team) => !unknown.has(team));
    counts = [
      { subscriptions: listed.length, unreadable },
      await reconcileTeams(known, listed, options, signal),
      await reportUnknown([...unknown], options),
    ].reduce(added, counts);
    const customerIds = page.map(({ customerId }) => customerId);
    await storeAnswered(query, customerIds, startedAtMs);
  }
  return counts;
}

/** Pages of the teams whose customer has no listed subscription. */
const unlistedTeams = (query: Query) =>
  pagesOf((afterId: ApplicationId | null) => readUnlistedTeams(query, afterId));

/** Reads the list of customers until every customer of a team is found. */
async function storeUnlistedCustomers(
  { database, api }: ReconcileOptions,
  onPage: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { query } = database;
  let unlisted = 0;
  for await (const page of unlistedTeams(query)) {
    const unknown = page.filter(({ isKnown }) => !isKnown);
    unlisted += new Set(unknown.map(({ customerId }) => customerId)).size;
  }
  if (unlisted === 0) return;
  const list = (cursor: string | null, signal: AbortSignal) =>
    api.listCustomers({ cursor }, signal);
  for await (const { objects } of readPages({ list, cursor: null, signal })) {
    const ids = objects.flatMap((object) => idOf(object) ?? []);
    unlisted -= await storeListedCustomers(query, ids);
    await onPage();
    if (unlisted <= 0) return;
  }
}

async function reportUnknown(
  teams: readonly LinkedTeam[],
  { database: { query }, onIssue }: ReconcileOptions,
): Promise<Partial<Counts>> {
  for (const { id: teamId, customerId } of teams) {
    onIssue({ kind: 'unknown customer', teamId, customerId });
  }
  await storeUnknown(query, teams);
  return { teams: teams.length, unknownCustomers: teams.length };
}

/** Reconciles the teams of one customer. @throws ReconciliationFailed */
export async function reconcileCustomer(
  customerId: string,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<Counts> {
  return added(NOTHING_COUNTED, await explainFailure(compareCustomer(customerId, options, signal)));
}

async function compareCustomer(
  customerId: string,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<Partial<Counts>> {
  const { query } = options.database;
  const askedAtMs = options.now();
  const teams = await readTeamsOf(query, [customerId]);
  const listed = await listCustomer(customerId, options, signal);
  if (listed === null) {
    await storeAnswered(query, [customerId], askedAtMs);
    return await reportUnknown(await unknownAmong(teams, options, signal), options);
  }
  // Stripe knows the customer.
  await storeIssues(query, [customerId], [], ['unknown customer']);
  const { subscriptions, unreadable } = listed;
  const found = await reconcileTeams(teams, subscriptions, options, signal);
  await storeAnswered(query, [customerId], askedAtMs);
  const paid = await findPaidWithoutPlan(options, customerId);
  const counts = { ...found, ...paid, unreadable, subscriptions: subscriptions.length };
  const statuses = subscriptions
    .filter(({ endedSeconds }) => endedSeconds === null)
    .map(({ status }) => status);
  if (teams.length > 0 || statuses.length === 0) return counts;
  options.onIssue({ kind: 'customer without a team', customerId, statuses });
  await storeIssues(
    query,
    [customerId],
    [customerIssue('customer without a team', customerId, null)],
  );
  return { ...counts, customersWithoutTeam: 1 };
}

/** Waits for a reconciliation. @throws ReconciliationFailed, or an error that is not Stripe's */
async function explainFailure<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    const failed = (message: string) =>
      new ReconciliationFailed('RECONCILIATION_FAILED', message, { cause });
    if (cause instanceof Stopped) throw failed(cause.message);
    if (cause instanceof StripeApiFailed && cause.isForbidden) {
      const message = 'STRIPE_SECRET_KEY lacks permission to read subscriptions and customers';
      throw new ReconciliationFailed('STRIPE_KEY_FORBIDDEN', message, { cause });
    }
    if (cause instanceof StripeApiFailed || cause instanceof DeadlineExceeded) {
      throw failed(`Stripe's API failed: ${cause.message}`);
    }
    throw cause;
  }
}

/** A function that reconciles a customer, and returns false if the key lacks permission to ask Stripe. */
export function createComparison(services: ReconcileServices) {
  const { logger } = services;
  const onIssue = ({ kind, ...issue }: ReconciliationIssue) => logger.info(issue, kind);
  const options = { ...services, isDryRun: false, onIssue };
  return async (customerId: string, signal: AbortSignal): Promise<boolean> => {
    try {
      await reconcileCustomer(customerId, options, signal);
      return true;
    } catch (error) {
      const isForbidden =
        error instanceof ReconciliationFailed && error.code === 'STRIPE_KEY_FORBIDDEN';
      if (isForbidden) return false;
      throw error;
    }
  };
}
