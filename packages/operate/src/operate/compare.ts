// Compares one team with Stripe while a person waits: actions.ts calls it.

import { readStates } from 'instep-engine/postgres';
import {
  askForOrder,
  ReconciliationFailed,
  type ReconciliationIssue,
  reconcileCustomer,
} from 'instep-engine/repair';
import { readIssuesOf } from '../issues/find-issues.ts';
import type { NamedTeam } from '../teams/named-teams.ts';
import { type Acting, done, failed, type Outcome } from './audit.ts';

/** Shorter than the deadline of a request. */
const DEADLINE_MS = 8_000;

/** Compares a team with Stripe, and repairs it unless it is a dry run. Stripe also decides an ambiguous order of events. */
export async function compare(
  team: NamedTeam,
  isDryRun: boolean,
  acting: Acting,
): Promise<Outcome> {
  const { query } = acting.database;
  const { id, customerId } = team;
  if (customerId === null) return failed({ code: 'has-another-customer', teamId: id, customerId });
  const issues: ReconciliationIssue[] = [];
  const onIssue = (issue: ReconciliationIssue) => void issues.push(issue);
  const signal = AbortSignal.timeout(DEADLINE_MS);
  try {
    const { retrieveSubscription } = acting.api;
    for (const { deciding } of (await readStates(query, [customerId]))
      .of(customerId)
      .subscriptions.values()) {
      const { providerSubscriptionId } = deciding?.reported.plan ?? {};
      if (!deciding?.isAmbiguous || !providerSubscriptionId) continue;
      await askForOrder(providerSubscriptionId, { ...acting, query, retrieveSubscription }, signal);
    }
    await reconcileCustomer(customerId, { ...acting, isDryRun, onIssue }, signal);
  } catch (error) {
    if (signal.aborted) return failed({ code: 'failed', error: 'DEADLINE_EXCEEDED' });
    if (!(error instanceof ReconciliationFailed)) throw error;
    return failed({ code: 'failed', error: error.code });
  }
  const issue = issues.find((one) => 'teamId' in one && one.teamId === id);
  if (issue?.kind === 'unknown customer') return failed({ code: 'unknown-customer', customerId });
  if (issue?.kind !== 'drift') return done({ code: 'in-sync' });
  const { is, shouldBe, cause, isRepaired } = issue;
  if (isRepaired) return done({ code: 'repaired', is, shouldBe, cause });
  const found = isDryRun ? [] : (await readIssuesOf(acting, team)).open;
  const [refused] = found.flatMap(({ evidence }) => ('cause' in evidence ? evidence : []));
  const { refusedBy = null, cause: why = cause } = refused ?? {};
  return { isDone: isDryRun, result: { code: 'out-of-sync', is, shouldBe, cause: why, refusedBy } };
}
