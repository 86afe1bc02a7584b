// Compares one team with Stripe while a person waits, and tells how far a comparison of all teams is. The console's
// pages call it, and actions.ts.

import type { ApplicationId, Query } from 'instep-engine/postgres';
import {
  askForOrder,
  type Progress,
  ReconciliationFailed,
  type ReconciliationIssue,
  readLeasedJob,
  readProgress,
  reconcileCustomer,
} from 'instep-engine/repair';
import type { ActingOperator } from 'instep-engine/rule';
import { readNamedTeam } from '../teams/named-teams.ts';
import type { ActionResult } from './audit.ts';
import type { OperateContext } from './context.ts';
import { readIssuesOf } from './find-issues.ts';

/** Shorter than the deadline of a request. */
const DEADLINE_MS = 8_000;

/** Compares a team with Stripe, and repairs it unless it is a dry run. Stripe also decides an ambiguous order of events. */
export async function compareOrRepair(
  context: OperateContext & { readonly operator?: ActingOperator },
  teamId: ApplicationId,
  isDryRun: boolean,
): Promise<ActionResult> {
  const { query } = context.database;
  const team = await readNamedTeam(query, teamId);
  if (team === null) return { code: 'no-such-team', text: String(teamId) };
  if (team.customerId === null) return { code: 'not-linked', teamId: team.id };
  const issues: ReconciliationIssue[] = [];
  const onIssue = (issue: ReconciliationIssue) => void issues.push(issue);
  const signal = AbortSignal.timeout(DEADLINE_MS);
  try {
    const { retrieveSubscription } = context.api;
    const ambiguous = await readAmbiguousSubscription(query, team.customerId);
    if (ambiguous !== null) {
      await askForOrder(ambiguous, { ...context, query, retrieveSubscription }, signal);
    }
    await reconcileCustomer(team.customerId, { ...context, isDryRun, onIssue }, signal);
  } catch (error) {
    if (signal.aborted) return { code: 'failed', error: 'DEADLINE_EXCEEDED' };
    if (!(error instanceof ReconciliationFailed)) throw error;
    return { code: 'failed', error: error.code };
  }
  const issue = issues.find((one) => 'teamId' in one && one.teamId === team.id);
  if (issue?.kind === 'unknown customer') {
    return { code: 'unknown-customer', customerId: issue.customerId };
  }
  if (issue?.kind !== 'drift') return { code: 'in-sync' };
  const { is, shouldBe, cause, isRepaired } = issue;
  if (isRepaired) return { code: 'repaired', is, shouldBe, cause };
  const found = isDryRun ? [] : (await readIssuesOf(context, team)).open;
  const [refused] = found.flatMap(({ evidence }) => ('cause' in evidence ? evidence : []));
  const { refusedBy = null, cause: why = cause } = refused ?? {};
  return { code: 'out-of-sync', is, shouldBe, cause: why, refusedBy };
}

async function readAmbiguousSubscription(query: Query, customerId: string): Promise<string | null> {
  const [row] = await query<{ subscriptionId: string | null }>({
    name: 'read_ambiguous_subscription',
    text: `
      select ambiguous_subscription_id as "subscriptionId"
        from instep.customers
       where customer_id = $1
         and ambiguous_since is not null`,
    values: [customerId],
  });
  return row?.subscriptionId ?? null;
}

/** The last reconciliation of all teams, in whichever process it runs. */
export type Reconciliation = {
  readonly isRunning: boolean;
  /** `null`: there was none. */
  readonly progress: Progress | null;
  /** In milliseconds since 1970; `null` until it has ended. */
  readonly endedAtMs: number | null;
};

/**
 * How far the last reconciliation of all teams is.
 *
 * @example
 * ```ts
 * const { isRunning, progress } = await readReconciliation(context);
 * console.log(isRunning, progress?.counts.drifts); // false undefined
 * ```
 */
export async function readReconciliation({
  database: { query },
}: OperateContext): Promise<Reconciliation> {
  const job = await readLeasedJob(query, 'reconcile');
  return {
    isRunning: job?.isHeld === true,
    progress: readProgress(job?.progress),
    endedAtMs: job?.endedAtMs ?? null,
  };
}
