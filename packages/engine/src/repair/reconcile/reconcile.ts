// Compares all teams with Stripe, or those of one customer: for a command, an operator, and a job of maintenance.

import type { Query } from '../../postgres/database.ts';
import { readStates } from '../../postgres/statements/customers.ts';
import { deleteOldIssues, readCustomersWithIssue } from '../../postgres/statements/issues.ts';
import { type LinkedTeam, readLinkedTeams, readTeamsOf } from '../../postgres/statements/teams.ts';
import type { CustomerState } from '../../rule/customer-state.ts';
import { hasPlan } from '../../rule/plan.ts';
import { ENDED_STATUSES } from '../../rule/status.ts';
import { DeadlineExceeded } from '../../runtime/deadline.ts';
import { Stopped } from '../../runtime/retry.ts';
import { StripeApiFailed } from '../../stripe/api-failure.ts';
import type { ListedSubscription } from '../../stripe/subscription-snapshot.ts';
import { storeAnswered } from '../asked-customers.ts';
import { type LeasedRun, readLeasedJob, withLease } from '../lease.ts';
import type { Job } from '../worker.ts';
import {
  type Answered,
  compareAnswer,
  compareCustomer,
  goingOn,
  isMissedStatus,
  reportTeamless,
} from './compare-customer.ts';
import { type DriftOptions, driftOf, type ReconciliationIssue } from './drift.ts';
import { deleteListed, readListed, readListings, storeListed } from './listed-subscriptions.ts';
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

/** Reconciles the teams of one customer. @throws ReconciliationFailed */
export async function reconcileCustomer(
  customerId: string,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<Counts> {
  return added(NOTHING_COUNTED, await explainFailure(compareCustomer(customerId, options, signal)));
}

/** Reconciles all teams at an interval, and logs what was found and repaired. */
export function createReconcileJob(services: ReconcileServices, intervalMs: number): Job['run'] {
  const { database, logger, nonce } = services;
  const onIssue = ({ kind, ...issue }: ReconciliationIssue) =>
    logger[kind === 'unrecorded' ? 'info' : 'warn'](issue, kind);
  const options = { ...services, intervalMs, isDryRun: false, onIssue };
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

/**
 * Reconciles all teams: stores Stripe's list of subscriptions page by page, and compares the teams when the
 * list is complete. A customer's subscriptions can be on different pages, and comparing with only some of
 * them would take away a plan that is paid for.
 *
 * @throws Stopped, DeadlineExceeded, StripeApiFailed or ReconciliationFailed
 */
async function reconcileAll(
  run: LeasedRun,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<Counts> {
  const { database, now } = options;
  const { query } = database;
  const { listSubscriptions } = options.api;
  let progress = startOf(run.progress, options);
  const { startedAtMs } = progress;

  async function save(next: Partial<Progress>, found: Partial<Counts>): Promise<void> {
    progress = { ...progress, ...next, counts: added(progress.counts, found) };
    await run.saveProgress(progress);
  }

  // Makes it possible to resume even if it is interrupted before the first page.
  await save({}, {});
  if (progress.phase === 'listing') {
    const { cursor } = progress;
    if (cursor === null) await deleteListed(query);
    const teamless = new Set<string>();
    for await (const page of readListings({ listSubscriptions, cursor, now, signal })) {
      const { subscriptions, unreadable, cursor } = page;
      const customersWithoutTeam = await storePage(subscriptions, teamless, options);
      const phase = cursor === null ? 'comparing' : 'listing';
      const found = { subscriptions: subscriptions.length, unreadable, customersWithoutTeam };
      await save({ cursor, phase }, found);
    }
  }

  const quiet = { left: MAX_QUIET };
  for (;;) {
    const { found: teams, examinedTo } = await readLinkedTeams(query, progress.afterTeamId);
    const found = await compareTeams(teams, { startedAtMs, quiet }, options, signal);
    // After the last page, only the teams that were added meanwhile are left.
    const afterTeamId = examinedTo ?? teams.at(-1)?.id ?? progress.afterTeamId;
    await save({ afterTeamId }, { ...found, teams: teams.length });
    if (examinedTo === null) break;
  }
  const { counts } = progress;
  const completed = { startedAtMs, endedAtMs: now(), teams: counts.teams };
  // Before the list is deleted, which is in use if another instance has taken over.
  await run.complete({ ...progress, completed, phase: 'done' });
  await deleteListed(query);
  await deleteOldIssues(query);
  return counts;
}

/** Stores a page of the list, and reports its customers that pay and have no team, once each. Returns their number. */
async function storePage(
  listed: readonly ListedSubscription[],
  reported: Set<string>,
  options: ReconcileOptions,
): Promise<number> {
  const { query } = options.database;
  const ofCustomers = byCustomer(listed);
  const teams = await readTeamsOf(query, [...ofCustomers.keys()]);
  const linkedIds = new Set(teams.map(({ customerId }) => customerId));
  await storeListed(
    query,
    listed.filter(({ customerId }) => linkedIds.has(customerId)),
  );
  const teamless = [...ofCustomers].flatMap(([customerId, own]) => {
    const statuses = linkedIds.has(customerId) || reported.has(customerId) ? [] : goingOn(own);
    return statuses.length === 0 ? [] : { customerId, statuses };
  });
  for (const { customerId } of teamless) reported.add(customerId);
  await reportTeamless(teamless, options);
  return teamless.length;
}

/** A customer of teams, with what is known and listed of it. */
type Compared = Omit<Answered, 'listed'> & {
  readonly listed: readonly ListedSubscription[];
  readonly state: CustomerState;
  readonly hasIssue: boolean;
};

/** Each takes a connection, and requests use the same pool. */
const CUSTOMERS_AT_ONCE = 5;

/** Compares the customers of some teams with the list, asks about those that it leaves unclear, and repairs what differs. */
async function compareTeams(
  some: readonly LinkedTeam[],
  { startedAtMs, quiet }: { readonly startedAtMs: number; readonly quiet: Quiet },
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<Partial<Counts>> {
  const { database, planSelection, now } = options;
  const { query } = database;
  const { customers, names } = await readCompared(query, some, startedAtMs);
  const known = { planSelection, names, nowMs: now() };
  const judged = customers.map((one) => ({ ...one, verdict: verdictOf(one, known, quiet) }));
  const right = judged.flatMap(({ verdict, customerId }) =>
    verdict === 'right' ? customerId : [],
  );
  await storeAnswered(query, right, startedAtMs);
  const others = judged.filter(({ verdict }) => verdict !== 'right');
  let counts = NOTHING_COUNTED;
  for (let next = 0; next < others.length; next += CUSTOMERS_AT_ONCE) {
    if (signal.aborted) throw new Stopped();
    const together = others.slice(next, next + CUSTOMERS_AT_ONCE).map((customer) => {
      const listed = { subscriptions: customer.listed, unreadable: 0 };
      return customer.verdict === 'unclear'
        ? compareCustomer(customer.customerId, options, signal)
        : compareAnswer({ ...customer, listed }, options, signal);
    });
    counts = (await Promise.all(together)).reduce(added, counts);
  }
  const { drifts, repaired, unrecorded, unknownCustomers } = counts;
  return { drifts, repaired, unrecorded, unknownCustomers };
}

/** One with teams on several pages belongs to the page of the first. */
async function readCompared(query: Query, some: readonly LinkedTeam[], askedAtMs: number) {
  const someIds = new Set(some.map(({ id }) => id));
  const teams = await readTeamsOf(
    query,
    some.map(({ customerId }) => customerId),
  );
  const ofCustomers = [...byCustomer(teams)].filter(
    ([, [first]]) => first && someIds.has(first.id),
  );
  const customerIds = ofCustomers.map(([customerId]) => customerId);
  const listedOf = byCustomer(await readListed(query, customerIds));
  const withIssue = await readCustomersWithIssue(query, customerIds);
  const states = await readStates(query, customerIds);
  const customers = ofCustomers.map(([customerId, teams]): Compared => {
    const listed = listedOf.get(customerId) ?? [];
    const hasIssue = withIssue.has(customerId);
    return { customerId, teams, listed, askedAtMs, state: states.of(customerId), hasIssue };
  });
  return { customers, names: states.names };
}

/**
 * How many more customers are asked about although neither the list nor anything else shows a plan: for ids that Stripe does
 * not know, and for test clocks, whose customers no list shows. An app can have many that never subscribe.
 */
type Quiet = { left: number };

const MAX_QUIET = 100;

/** `differs`: the list shows it, also that it knows the teams' subscriptions. `unclear`: Stripe has to be asked. */
function verdictOf(
  { teams, listed, state, hasIssue }: Compared,
  known: DriftOptions,
  quiet: Quiet,
): 'right' | 'differs' | 'unclear' {
  if (listed.length === 0) {
    const isQuiet = !hasIssue && !teams.some(({ plan }) => hasPlan(plan)) && hasEnded(state);
    if (isQuiet) quiet.left -= 1;
    return isQuiet && quiet.left < 0 ? 'right' : 'unclear';
  }
  const isSame =
    teams.every((team) => driftOf(team, state, listed, known) === null) &&
    !listed.some((one) => isMissedStatus(one, state));
  if (isSame) return 'right';
  // Without a subscription's id in its row, the app can't have written one that is newer than the list.
  const isListed = ({ plan: { providerSubscriptionId: id } }: LinkedTeam) =>
    !id || listed.some(({ subscriptionId }) => subscriptionId === id);
  return teams.every(isListed) ? 'differs' : 'unclear';
}

const hasEnded = ({ subscriptions }: CustomerState) =>
  [...subscriptions.values()].every(({ latest }) =>
    ENDED_STATUSES.includes(latest.reported.status),
  );

function byCustomer<One extends { readonly customerId: string }>(
  all: readonly One[],
): ReadonlyMap<string, readonly [One, ...One[]]> {
  const found = new Map<string, [One, ...One[]]>();
  for (const one of all) {
    const others = found.get(one.customerId);
    if (others === undefined) found.set(one.customerId, [one]);
    else others.push(one);
  }
  return found;
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
