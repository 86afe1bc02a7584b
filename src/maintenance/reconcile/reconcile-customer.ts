import { readTeamsOf } from '../../queries/teams.ts';
import { explainFailure } from './failure.ts';
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
  const { database, onFinding } = options;
  const teams = await readTeamsOf(database.query, [customerId]);
  const listed = await explainFailure(listCustomer(customerId, options, signal));
  if (listed === null) {
    for (const { id: teamId } of teams) onFinding({ kind: 'unknown customer', teamId, customerId });
    return { ...NOTHING_COUNTED, teams: teams.length, unknownCustomers: teams.length };
  }
  const { subscriptions, unreadable } = listed;
  const counts = { ...NOTHING_COUNTED, unreadable, subscriptions: subscriptions.length };
  const statuses = subscriptions
    .filter(({ endedSeconds }) => endedSeconds === null)
    .map(({ status }) => status);
  if (teams.length === 0 && statuses.length > 0) {
    onFinding({ kind: 'customer without a team', customerId, statuses });
    return { ...counts, customersWithoutTeam: 1 };
  }
  return { ...counts, ...(await reconcileTeams(teams, subscriptions, options, signal)) };
}
