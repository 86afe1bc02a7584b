// Compares all teams with Stripe, or those of one customer: for a command, an operator, and a job of maintenance.

import * as v from 'valibot';
import type { Query } from '../../postgres/database.ts';
import { readStates } from '../../postgres/statements/customers.ts';
import { deleteOldIssues, readCustomersWithIssue } from '../../postgres/statements/issues.ts';
import { type LinkedTeam, readLinkedTeams, readTeamsOf } from '../../postgres/statements/teams.ts';
import type { CustomerState } from '../../rule/customer-state.ts';
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
import { type CompareRules, compare, type ReconciliationIssue } from './drift.ts';
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

/** How often all teams are compared; the run then continues one that was interrupted. */
type Repetition = { readonly intervalMs?: number };

/**
 * Reconciles all teams now.
 *
 * @throws ReconciliationFailed
 */
export async function reconcile(options: ReconcileOptions, signal: AbortSignal): Promise<Counts> {
  const counts = await explainFailure(reconcileIfDue(options, 0, signal));
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
  options: ReconcileOptions & Repetition,
  dueAfterMs: number,
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
  /** The phase continues after this subscription or team; `null`: at the beginning. */
  after: v.nullable(v.union([integer, v.string()])),
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

function added(counts: Counts, found: Partial<Counts>): Counts {
  const sums = Object.entries(counts).map(([name, sum]) => [
    name,
    sum + (found[name as keyof Counts] ?? 0),
  ]);
  return v.parse(countsShape, Object.fromEntries(sums));
}

/** An older list is too outdated to compare with. */
const RESUMABLE_MS = 24 * 60 * 60 * 1_000;

type StartOptions = Pick<ReconcileOptions, 'isDryRun' | 'now'> & Repetition;

/** Where a reconciliation starts: where the last one was interrupted, if it can continue it. */
function startOf(saved: unknown, { isDryRun, intervalMs, now }: StartOptions): Progress {
  const startedAtMs = now();
  const last = readProgress(saved);
  const { completed = null } = last ?? {};
  const kept = { completed, intervalMs: intervalMs ?? last?.intervalMs ?? null };
  const isResumed =
    intervalMs !== undefined &&
    last !== null &&
    last.phase !== 'done' &&
    last.isDryRun === isDryRun &&
    startedAtMs - last.startedAtMs <= RESUMABLE_MS;
  if (isResumed) return { ...last, ...kept };
  const beginning = { phase: 'listing', after: null, counts: NOTHING_COUNTED } as const;
  return { ...beginning, ...kept, startedAtMs, isDryRun };
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
  options: ReconcileOptions & Repetition,
  signal: AbortSignal,
): Promise<Counts> {
  const { database, now, api } = options;
  const { query } = database;
  let progress = startOf(run.progress, options);
  const { startedAtMs } = progress;

  async function save(next: Pick<Progress, 'phase' | 'after'>, found: Partial<Counts>) {
    progress = { ...progress, ...next, counts: added(progress.counts, found) };
    await run.saveProgress(progress);
  }

  // Makes it possible to resume even if it is interrupted before the first page.
  await save(progress, {});
  if (progress.phase === 'listing') {
    const cursor = progress.after === null ? null : String(progress.after);
    if (cursor === null) await deleteListed(query);
    const teamless = new Set<string>();
    const { listSubscriptions } = api;
    for await (const page of readListings({ listSubscriptions, cursor, now, signal })) {
      const { subscriptions, unreadable, cursor: after } = page;
      const customersWithoutTeam = await storePage(subscriptions, teamless, options);
      const found = { subscriptions: subscriptions.length, unreadable, customersWithoutTeam };
      await save({ phase: after === null ? 'comparing' : 'listing', after }, found);
    }
  }

  const quiet = { left: MAX_QUIET };
  for (;;) {
    const { found: teams, examinedTo } = await readLinkedTeams(query, progress.after);
    const found = await compareTeams(teams, { startedAtMs, quiet }, options, signal);
    // After the last page, only the teams that were added meanwhile are left.
    const after = examinedTo ?? teams.at(-1)?.id ?? progress.after;
    await save({ phase: 'comparing', after }, { ...found, teams: teams.length });
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

/** Stores a page of the list, and reports its customers that pay and have no team, once each. Returns how many. */
async function storePage(
  listed: readonly ListedSubscription[],
  reported: Set<string>,
  options: ReconcileOptions,
): Promise<number> {
  const { query } = options.database;
  const teams = await readTeamsOf(
    query,
    listed.map(({ customerId }) => customerId),
  );
  const linkedIds = new Set(teams.map(({ customerId }) => customerId));
  const isLinked = ({ customerId }: ListedSubscription) => linkedIds.has(customerId);
  await storeListed(query, listed.filter(isLinked));
  const others = listed.filter((one) => !isLinked(one) && !reported.has(one.customerId));
  const customerIds = await reportTeamless(others, options);
  for (const customerId of customerIds) reported.add(customerId);
  return customerIds.length;
}

/** A customer of teams, with what is known and listed of it. */
type Listed = Omit<Answered, 'listed'> & {
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
  const { customers, names } = await readCustomers(query, some, startedAtMs);
  const rules = { planSelection, names, nowMs: now() };
  const judged = customers.map((one) => ({ ...one, verdict: verdictOf(one, rules, quiet) }));
  const right = judged.filter(({ verdict }) => verdict === 'right');
  await storeAnswered(
    query,
    right.map(({ customerId }) => customerId),
    startedAtMs,
  );
  const others = judged.filter(({ verdict }) => verdict !== 'right');
  let counts: Counts = NOTHING_COUNTED;
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
  const { drifts, repaired, unknownCustomers } = counts;
  return { drifts, repaired, unknownCustomers };
}

/** One with teams on several pages belongs to the page of the first. */
async function readCustomers(query: Query, some: readonly LinkedTeam[], askedAtMs: number) {
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
  const customers = ofCustomers.map(([customerId, teams]): Listed => {
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
  { teams, listed, state, hasIssue }: Listed,
  rules: CompareRules,
  quiet: Quiet,
): 'right' | 'differs' | 'unclear' {
  if (listed.length === 0) {
    const isQuiet = !hasIssue && !teams.some(({ plan }) => hasPlan(plan)) && hasEnded(state);
    if (isQuiet) quiet.left -= 1;
    return isQuiet && quiet.left < 0 ? 'right' : 'unclear';
  }
  const { drifts, statuses } = compare({ teams, state, listed }, rules);
  if (drifts.length === 0 && statuses.length === 0) return 'right';
  // Without a subscription's id in its row, the app can't have written one that is newer than the list.
  const isListed = ({ plan: { providerSubscriptionId: id } }: LinkedTeam) =>
    !id || listed.some(({ subscriptionId }) => subscriptionId === id);
  return teams.every(isListed) ? 'differs' : 'unclear';
}

const hasEnded = ({ subscriptions }: CustomerState) =>
  [...subscriptions.values()].every(({ latest }) =>
    ENDED_STATUSES.includes(latest.reported.status),
  );

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
