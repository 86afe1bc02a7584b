import type { Finding, NamedTeam } from 'instep/operate';
import {
  type ReconcileServices,
  ReconciliationFailed,
  reconcileCustomer,
} from 'instep/operate/inside';

/** The result of comparing one team with its customer's subscriptions at Stripe. */
export type Comparison =
  | { readonly kind: 'compared'; readonly finding: Finding | null }
  | { readonly kind: 'failed'; readonly reason: string };

/** Shorter than the deadline of the request. */
const DEADLINE_MS = 8_000;

/** Compares a team with Stripe, and repairs it unless it is a dry run. */
export async function compareTeam(
  { id, customerId }: NamedTeam,
  services: ReconcileServices,
  { isDryRun }: { readonly isDryRun: boolean },
): Promise<Comparison> {
  if (customerId === null) return { kind: 'failed', reason: 'the team has no customer' };
  const findings: Finding[] = [];
  const onFinding = (finding: Finding) => void findings.push(finding);
  const signal = AbortSignal.timeout(DEADLINE_MS);
  try {
    await reconcileCustomer(customerId, { ...services, isDryRun, onFinding }, signal);
  } catch (error) {
    if (signal.aborted) return { kind: 'failed', reason: "Stripe's API did not answer in time" };
    if (!(error instanceof ReconciliationFailed)) throw error;
    return { kind: 'failed', reason: error.message };
  }
  const finding = findings.find((one) => 'teamId' in one && one.teamId === id) ?? null;
  return { kind: 'compared', finding };
}
