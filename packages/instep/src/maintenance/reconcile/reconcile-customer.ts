import { storeFindings } from '../../postgres/statements/findings.ts';
import { readTeamsOf } from '../../postgres/statements/teams.ts';
import { explainFailure } from './failure.ts';
import { unmatched } from './finding.ts';
import { listCustomer } from './listing.ts';
import type { ReconcileOptions } from './options.ts';
import { type Counts, NOTHING_COUNTED } from './progress.ts';
import { reconcileTeams } from './reconcile-teams.ts';

/** Reconciles the teams of one customer. @throws ReconciliationFailed */
export async function reconcileCustomer(
  customerId: string,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<Counts> {
  const { onFinding } = options;
  const { query } = options.database;
  const teams = await readTeamsOf(query, [customerId]);
  const listed = await explainFailure(listCustomer(customerId, options, signal));
  if (listed === null) {
    for (const { id: teamId } of teams) onFinding({ kind: 'unknown customer', teamId, customerId });
    const found = teams.map(({ id }) => unmatched(customerId, id));
    await storeFindings(query, [customerId], found);
    return { ...NOTHING_COUNTED, teams: teams.length, unknownCustomers: teams.length };
  }
  const { subscriptions, unreadable } = listed;
  const counts = { ...NOTHING_COUNTED, unreadable, subscriptions: subscriptions.length };
  const statuses = subscriptions
    .filter(({ endedSeconds }) => endedSeconds === null)
    .map(({ status }) => status);
  if (teams.length === 0 && statuses.length > 0) {
    onFinding({ kind: 'customer without a team', customerId, statuses });
    await storeFindings(query, [customerId], [unmatched(customerId, null)]);
    return { ...counts, customersWithoutTeam: 1 };
  }
  // Stripe knows the customer.
  await storeFindings(query, [customerId], [], ['unknown customer']);
  return { ...counts, ...(await reconcileTeams(teams, subscriptions, options, signal)) };
}
