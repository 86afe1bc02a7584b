import type { Finding } from '../../../maintenance/reconcile/finding.ts';
import { interruptionOf } from '../../../maintenance/reconcile/interruption.ts';
import { reconcileCustomer } from '../../../maintenance/reconcile/reconcile-customer.ts';
import type { NamedTeam } from '../../../queries/named-teams.ts';
import type { MakeReconcileOptions } from '../reconcile/create-options.ts';

/** The result of comparing one team with its customer's subscriptions at Stripe. */
export type Comparison =
  | { readonly kind: 'compared'; readonly isDryRun: boolean; readonly finding: Finding | null }
  | { readonly kind: 'failed'; readonly reason: string };

/** Shorter than the deadline of the request. */
const DEADLINE_MS = 8_000;

/** Compares a team with Stripe, and repairs it unless it is a dry run. */
export async function compareTeam(
  { id, customerId }: NamedTeam,
  makeOptions: MakeReconcileOptions,
  { isDryRun }: { readonly isDryRun: boolean },
): Promise<Comparison> {
  if (customerId === null) return { kind: 'failed', reason: 'the team has no customer' };
  const findings: Finding[] = [];
  const options = makeOptions({ isDryRun, onFinding: (finding) => findings.push(finding) });
  const signal = AbortSignal.timeout(DEADLINE_MS);
  try {
    await reconcileCustomer(customerId, options, signal);
  } catch (error) {
    if (signal.aborted) return { kind: 'failed', reason: "Stripe's API did not answer in time" };
    const reason = interruptionOf(error)?.reason;
    if (reason === undefined) throw error;
    return { kind: 'failed', reason };
  }
  const finding = findings.find((one) => 'teamId' in one && one.teamId === id) ?? null;
  return { kind: 'compared', isDryRun, finding };
}
