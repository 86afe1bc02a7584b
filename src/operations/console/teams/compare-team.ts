import type { Finding } from '../../../maintenance/reconcile/finding.ts';
import { interruptionOf } from '../../../maintenance/reconcile/interruption.ts';
import { reconcileCustomer } from '../../../maintenance/reconcile/reconcile-customer.ts';
import type { NamedTeam } from '../../../queries/named-teams.ts';
import type { MakeReconcileOptions } from '../reconcile/create-options.ts';

/** What came of comparing one team with what Stripe lists of its customer. */
export type Comparison =
  | { readonly kind: 'compared'; readonly isDryRun: boolean; readonly finding: Finding | null }
  | { readonly kind: 'failed'; readonly reason: string };

/** Somebody waits for it, and the request has its own deadline. */
const DEADLINE_MS = 8_000;

/** Compares a team with Stripe, and repairs it unless it is a dry run. */
export async function compareTeam(
  { id, customerId }: NamedTeam,
  makeOptions: MakeReconcileOptions,
  { isDryRun }: { readonly isDryRun: boolean },
): Promise<Comparison> {
  if (customerId === null) return { kind: 'failed', reason: 'the team follows no customer' };
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
  const ofTeam = findings.find((finding) => 'teamId' in finding && finding.teamId === id);
  return { kind: 'compared', isDryRun, finding: ofTeam ?? null };
}
