// Compares all teams with Stripe, or those of one customer: for a command, an operator, and a job of maintenance.

import * as v from 'valibot';
import type { ApplicationId } from '../../postgres/application.ts';
import type { Database } from '../../postgres/database.ts';
import { pagesOf } from '../../postgres/examine.ts';
import { readStates } from '../../postgres/statements/customers.ts';
import { deleteOldIssues, readCustomersWithIssue } from '../../postgres/statements/issues.ts';
import { type LinkedTeam, readLinkedTeams, readTeamsOf } from '../../postgres/statements/teams.ts';
import { hasPlan } from '../../rule/plan.ts';
import { ENDED_STATUSES } from '../../rule/status.ts';
import { DeadlineExceeded } from '../../runtime/deadline.ts';
import { CodedError } from '../../runtime/errors.ts';
import { Stopped } from '../../runtime/retry.ts';
import { StripeApiFailed } from '../../stripe/api-failure.ts';
import type { ListedSubscription } from '../../stripe/subscription-snapshot.ts';
import { storeAnswered } from '../asked-customers.ts';
import { type LeasedRun, withLease } from '../lease.ts';
import type { Job } from '../worker.ts';
import {
  type Answered,
  type Counts,
  compareAnswer,
  compareCustomer,
  countsShape,
  NOTHING_COUNTED,
  type ReconcileOptions,
  type ReconcileServices,
  reportTeamless,
} from './compare-customer.ts';
import {
  type ComparedCustomer,
  type CompareRules,
  compare,
  type ReconciliationIssue,
} from './drift.ts';
import {
  byCustomer,
  deleteListed,
  readListed,
  readListings,
  storeListed,
} from './listed-subscriptions.ts';

const JOB = 'reconcile';

type ReconciliationCode =
  | 'RECONCILIATION_FAILED'
  | 'RECONCILIATION_RUNNING'
  | 'STRIPE_KEY_FORBIDDEN';

/** A reconciliation was not begun, or not completed. The repairs made until then stay. */
export class ReconciliationFailed extends CodedError<ReconciliationCode> {}

/**
 * Reconciles all teams now.
 *
 * @throws ReconciliationFailed
 */
export async function reconcile(options: ReconcileOptions, signal: AbortSignal): Promise<Counts> {
  const counts = await explainFailure(reconcileIfDue(options, null, signal));
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
  const { counts, counting } = startCounting(options);
  const { teams, listed } = await explainFailure(compareCustomer(customerId, counting, signal));
  counts.teams = teams.length;
  counts.subscriptions = listed?.subscriptions.length ?? 0;
  counts.unreadable = listed?.unreadable ?? 0;
  return counts;
}

/** Counts the issues that are reported. */
function startCounting(options: ReconcileOptions) {
  const counts: Counts = { ...NOTHING_COUNTED };
  function onIssue(issue: ReconciliationIssue): void {
    if (issue.kind === 'unknown customer') counts.unknownCustomers += 1;
    else if (issue.kind === 'customer without a team') counts.customersWithoutTeam += 1;
    else {
      counts.drifts += 1;
      if (issue.isRepaired) counts.repaired += 1;
    }
    options.onIssue(issue);
  }
  return { counts, counting: { ...options, onIssue } };
}

/** Reconciles all teams at an interval, and logs what was found and repaired. */
export function createReconcileJob(services: ReconcileServices, intervalMs: number): Job['run'] {
  const { logger } = services;
  const onIssue = ({ kind, ...issue }: ReconciliationIssue) => logger.warn(issue, kind);
  return async (signal) => {
    const options = { ...services, intervalMs, isDryRun: false, onIssue };
    const counts = await reconcileIfDue(options, intervalMs, signal);
    if (counts !== null) logger.info(counts, 'reconciled');
  };
}

/** `null`: it is not due, or another one is running. */
async function reconcileIfDue(
  options: ReconcileOptions,
  dueAfterMs: number | null,
  signal: AbortSignal,
): Promise<Counts | null> {
  const { database, nonce } = options;
  return await withLease(database.query, { name: JOB, holder: nonce(), dueAfterMs }, (run) =>
    reconcileAll(run, options, signal),
  );
}

const integer = v.pipe(v.number(), v.integer());
const progressShape = v.object({
  phase: v.picklist(['listing', 'comparing', 'done']),
  startedAtMs: integer,
  isDryRun: v.boolean(),
  counts: countsShape,
  /** The last comparison that was completed, while and after later ones. */
  completed: v.nullable(v.object({ startedAtMs: integer, endedAtMs: integer, teams: integer })),
  /** How often a server does it; `null`: never so far. */
  intervalMs: v.nullable(integer),
});

export type Progress = v.InferOutput<typeof progressShape>;

export function readProgress(saved: unknown): Progress | null {
  const parsed = v.safeParse(progressShape, saved);
  return parsed.success ? parsed.output : null;
}

/**
 * Reconciles all teams: stores Stripe's list of subscriptions page by page, and compares the teams when the
 * list is complete. A customer's subscriptions can be on different pages, and comparing with only some of
 * them would take away a plan that is paid for. One that was interrupted starts again.
 *
 * @throws Stopped, DeadlineExceeded, StripeApiFailed or ReconciliationFailed
 */
async function reconcileAll(
  run: LeasedRun,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<Counts> {
  const { database, now, api, isDryRun } = options;
  const { query } = database;
  const startedAtMs = now();
  const last = readProgress(run.progress);
  const { counts, counting } = startCounting(options);
  const progress: Progress = {
    ...{ phase: 'listing', startedAtMs, isDryRun, counts },
    completed: last?.completed ?? null,
    intervalMs: options.intervalMs ?? last?.intervalMs ?? null,
  };

  await saveWithoutList(run, database, progress);
  const teamless = new Set<string>();
  for await (const page of readListings({
    listSubscriptions: api.listSubscriptions,
    now,
    signal,
  })) {
    counts.subscriptions += page.subscriptions.length;
    counts.unreadable += page.unreadable;
    await storePage(page.subscriptions, teamless, counting);
    await run.saveProgress(progress);
  }

  progress.phase = 'comparing';
  let quietLeft = MAX_QUIET;
  const readTeams = (after: ApplicationId | null) => readLinkedTeams(query, after);
  for await (const teams of pagesOf(readTeams)) {
    const judged = await judgeCustomers(teams, startedAtMs, options);
    // While it has the lease, what it has read is the whole list: another comparison begins by deleting it.
    await run.saveProgress(progress);
    const quiet = judged.filter(({ verdict }) => verdict === 'quiet').slice(0, quietLeft);
    quietLeft -= quiet.length;
    const isToAsk = (one: Judged) => isWrong(one) || quiet.includes(one);
    const right = judged.filter((one) => !isToAsk(one)).map(({ customerId }) => customerId);
    await storeAnswered(query, right, startedAtMs);
    await repairCustomers(judged.filter(isToAsk), counting, signal);
    counts.teams += teams.length;
  }
  const completed = { startedAtMs, endedAtMs: now(), teams: counts.teams };
  await saveWithoutList(run, database, { ...progress, completed, phase: 'done' });
  await deleteOldIssues(query);
  return counts;
}

/** Deletes the list only with the lease: if another instance has taken over, even this moment, it is in use. */
async function saveWithoutList(
  run: LeasedRun,
  database: Database,
  progress: Progress,
): Promise<void> {
  await database.transaction(async (query) => {
    await run.saveProgress(progress, query);
    await deleteListed(query);
  });
}

/** Stores a page of the list, and reports its customers that pay and have no team, once each. */
async function storePage(
  listed: readonly ListedSubscription[],
  reported: Set<string>,
  options: ReconcileOptions,
): Promise<void> {
  const { query } = options.database;
  const teams = await readTeamsOf(
    query,
    listed.map(({ customerId }) => customerId),
  );
  const linkedIds = new Set(teams.map(({ customerId }) => customerId));
  const isLinked = ({ customerId }: ListedSubscription) => linkedIds.has(customerId);
  await storeListed(query, listed.filter(isLinked));
  const others = listed.filter((one) => !isLinked(one) && !reported.has(one.customerId));
  for (const customerId of await reportTeamless(others, options)) reported.add(customerId);
}

/**
 * A customer of teams, and what is listed of it. `differs`: the list shows it. `unclear`: Stripe has to be asked. `quiet`:
 * neither the list nor anything else shows a plan.
 */
type Judged = Answered & { readonly verdict: 'right' | 'differs' | 'unclear' | 'quiet' };

/**
 * How many quiet customers are asked about, for ids that Stripe does not know, and for test clocks, whose customers no list
 * shows. An app can have many that never subscribe.
 */
const MAX_QUIET = 100;

/** Compares the customers of some teams with the list. One with teams on several pages belongs to the page of the first. */
async function judgeCustomers(
  some: readonly LinkedTeam[],
  askedAtMs: number,
  { database: { query }, planSelection, now }: ReconcileOptions,
): Promise<readonly Judged[]> {
  const someIds = new Set(some.map(({ id }) => id));
  const teams = await readTeamsOf(
    query,
    some.map(({ customerId }) => customerId),
  );
  const ofCustomers = [...byCustomer(teams)].filter(([, [first]]) => someIds.has(first.id));
  const customerIds = ofCustomers.map(([customerId]) => customerId);
  const listedOf = byCustomer(await readListed(query, customerIds));
  const withIssue = await readCustomersWithIssue(query, customerIds);
  const states = await readStates(query, customerIds);
  const rules = { planSelection, names: states.names, nowMs: now() };
  return ofCustomers.map(([customerId, teams]) => {
    const listed = listedOf.get(customerId) ?? [];
    const compared = { teams, listed, state: states.of(customerId) };
    return {
      ...{ customerId, teams, askedAtMs, listed: { subscriptions: listed, unreadable: 0 } },
      verdict:
        listed.length > 0
          ? verdictOf(compared, rules)
          : verdictOfUnlisted(compared, withIssue.has(customerId)),
    };
  });
}

function verdictOf(customer: ComparedCustomer, rules: CompareRules): Judged['verdict'] {
  const { drifts, statuses } = compare(customer, rules);
  if (drifts.length === 0 && statuses.length === 0) return 'right';
  // Without a subscription's id in its row, the app can't have written one that is newer than the list.
  const isListed = ({ plan: { providerSubscriptionId: id } }: LinkedTeam) =>
    !id || customer.listed.some(({ subscriptionId }) => subscriptionId === id);
  return customer.teams.every(isListed) ? 'differs' : 'unclear';
}

function verdictOfUnlisted({ teams, state }: ComparedCustomer, hasIssue: boolean) {
  const hasEnded = [...state.subscriptions.values()].every(({ latest }) =>
    ENDED_STATUSES.includes(latest.reported.status),
  );
  const isQuiet = hasEnded && !hasIssue && !teams.some(({ plan }) => hasPlan(plan));
  return isQuiet ? 'quiet' : 'unclear';
}

const isWrong = ({ verdict }: Judged) => verdict === 'differs' || verdict === 'unclear';

/** Each takes a connection, and requests use the same pool. */
const CUSTOMERS_AT_ONCE = 5;

/** Asks about the customers that the list leaves unclear, and repairs those that differ. */
async function repairCustomers(
  customers: readonly Judged[],
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<void> {
  for (let next = 0; next < customers.length; next += CUSTOMERS_AT_ONCE) {
    if (signal.aborted) throw new Stopped();
    const together = customers
      .slice(next, next + CUSTOMERS_AT_ONCE)
      .map((customer) =>
        customer.verdict === 'differs'
          ? compareAnswer(customer, options, signal)
          : compareCustomer(customer.customerId, options, signal),
      );
    await Promise.all<unknown>(together);
  }
}

/** Waits for a comparison. @throws ReconciliationFailed, or an error that is not Stripe's */
export async function explainFailure<Result>(work: Promise<Result>): Promise<Result> {
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
