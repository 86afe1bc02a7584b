// Compares all teams with Stripe, or those of one customer: for a command, an operator, and a job of maintenance.

import * as v from 'valibot';
import type { ApplicationId } from '../../postgres/application.ts';
import type { Query } from '../../postgres/database.ts';
import { pagesOf } from '../../postgres/examine.ts';
import { readStates } from '../../postgres/statements/customers.ts';
import { deleteOldIssues, readCustomersWithIssue } from '../../postgres/statements/issues.ts';
import { readLinkedTeams, readTeamsOf } from '../../postgres/statements/teams.ts';
import { hasPlan } from '../../rule/plan.ts';
import { ENDED_STATUSES } from '../../rule/status.ts';
import { DeadlineExceeded } from '../../runtime/deadline.ts';
import { CodedError } from '../../runtime/errors.ts';
import { Stopped } from '../../runtime/retry.ts';
import { StripeApiFailed } from '../../stripe/api-failure.ts';
import type { ListedSubscription } from '../../stripe/subscription-snapshot.ts';
import { readUnanswered, storeAnswered } from '../asked-customers.ts';
import { type LeasedRun, withLease } from '../lease.ts';
import type { Job } from '../worker.ts';
import {
  type Counts,
  compareCustomer,
  countsShape,
  NOTHING_COUNTED,
  type ReconcileOptions,
  type ReconcileServices,
  reportTeamless,
} from './compare-customer.ts';
import { compare, type ReconciliationIssue } from './drift.ts';
import { byCustomer, readListings } from './listed-subscriptions.ts';

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
 * Reconciles all teams. Stripe's list is only a hint: a customer whose teams differ from what a page shows, or of whom the
 * list shows nothing, is asked about, because its subscriptions can be on different pages, and comparing with only some of
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
  await run.saveProgress(progress);

  const seen: Seen = { asked: new Set(), teamless: new Set() };
  const { listSubscriptions } = api;
  for await (const page of readListings({ listSubscriptions, now, signal })) {
    counts.subscriptions += page.subscriptions.length;
    counts.unreadable += page.unreadable;
    const { right, suspects } = await judgeListed(page.subscriptions, seen, counting);
    await storeAnswered(query, right, startedAtMs);
    await askAbout(suspects, seen, counting, signal);
    await run.saveProgress(progress);
  }

  progress.phase = 'comparing';
  let quietLeft = MAX_QUIET;
  const readTeams = (after: ApplicationId | null) => readLinkedTeams(query, after);
  for await (const teams of pagesOf(readTeams)) {
    const customerIds = teams.map(({ customerId }) => customerId);
    const unlisted = await readUnanswered(query, customerIds, startedAtMs);
    const { quiet, suspects } = await judgeUnlisted(unlisted, query);
    await storeAnswered(query, quiet.slice(quietLeft), startedAtMs);
    const quietToAsk = quiet.slice(0, quietLeft);
    quietLeft -= quietToAsk.length;
    await askAbout([...suspects, ...quietToAsk], seen, counting, signal);
    counts.teams += teams.length;
    await run.saveProgress(progress);
  }
  const completed = { startedAtMs, endedAtMs: now(), teams: counts.teams };
  await run.saveProgress({ ...progress, completed, phase: 'done' });
  await deleteOldIssues(query);
  return counts;
}

/** The customers that were asked about, and those without a team that were reported: each once, however often it is listed. */
type Seen = { readonly asked: Set<string>; readonly teamless: Set<string> };

/** Compares the customers of a page of the list, and reports those that pay and have no team. */
async function judgeListed(
  listed: readonly ListedSubscription[],
  { teamless }: Seen,
  options: ReconcileOptions,
): Promise<{ readonly right: readonly string[]; readonly suspects: readonly string[] }> {
  const { planSelection, now } = options;
  const { query } = options.database;
  const listedOf = byCustomer(listed);
  const teamsOf = byCustomer(await readTeamsOf(query, [...listedOf.keys()]));
  const others = listed.filter(({ customerId: id }) => !teamsOf.has(id) && !teamless.has(id));
  for (const customerId of await reportTeamless(others, options)) teamless.add(customerId);

  const states = await readStates(query, [...teamsOf.keys()]);
  const rules = { planSelection, names: states.names, nowMs: now() };
  const [right, suspects]: [string[], string[]] = [[], []];
  for (const [customerId, teams] of teamsOf) {
    const compared = {
      teams,
      state: states.of(customerId),
      listed: listedOf.get(customerId) ?? [],
    };
    const { drifts, statuses } = compare(compared, rules);
    const isRight = drifts.length === 0 && statuses.length === 0;
    (isRight ? right : suspects).push(customerId);
  }
  return { right, suspects };
}

/**
 * How many quiet customers are asked about, for ids that Stripe does not know, and for test clocks, whose customers no list
 * shows. An app can have many that never subscribe.
 */
const MAX_QUIET = 100;

/** Finds the customers of whom neither the list nor anything else shows a plan. */
async function judgeUnlisted(
  customerIds: readonly string[],
  query: Query,
): Promise<{ readonly quiet: readonly string[]; readonly suspects: readonly string[] }> {
  const teamsOf = byCustomer(await readTeamsOf(query, customerIds));
  const withIssue = await readCustomersWithIssue(query, customerIds);
  const states = await readStates(query, customerIds);
  const [quiet, suspects]: [string[], string[]] = [[], []];
  for (const [customerId, teams] of teamsOf) {
    const hasEnded = [...states.of(customerId).subscriptions.values()].every(({ latest }) =>
      ENDED_STATUSES.includes(latest.reported.status),
    );
    const isQuiet =
      hasEnded && !withIssue.has(customerId) && !teams.some(({ plan }) => hasPlan(plan));
    (isQuiet ? quiet : suspects).push(customerId);
  }
  return { quiet, suspects };
}

/** Each takes a connection, and requests use the same pool. */
const CUSTOMERS_AT_ONCE = 5;

/** Asks Stripe about these customers, unless this comparison already has, and repairs those that differ. */
async function askAbout(
  customerIds: readonly string[],
  { asked }: Seen,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<void> {
  const others = customerIds.filter((customerId) => !asked.has(customerId));
  for (let next = 0; next < others.length; next += CUSTOMERS_AT_ONCE) {
    if (signal.aborted) throw new Stopped();
    const together = others.slice(next, next + CUSTOMERS_AT_ONCE);
    for (const customerId of together) asked.add(customerId);
    await Promise.all(together.map((id) => compareCustomer(id, options, signal)));
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
