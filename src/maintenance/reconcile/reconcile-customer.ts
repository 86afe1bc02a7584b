import type { ListedSubscription } from '../../core/listed-subscription.ts';
import { readTeamsOf } from '../../queries/teams.ts';
import { StripeApiFailed } from '../../stripe/api-failure.ts';
import { explainFailure } from './failure.ts';
import { type Counts, NOTHING_COUNTED } from './finding.ts';
import { readListings } from './listing.ts';
import type { ReconcileOptions } from './options.ts';
import { reconcileTeams } from './reconcile-teams.ts';

/** Reconciles the teams of one customer. @throws ReconciliationFailed */
export async function reconcileCustomer(
  customerId: string,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<Counts> {
  const { database, onFinding } = options;
  const teams = await readTeamsOf(database.query, [customerId]);
  const listed = await explainFailure(list(customerId, options, signal));
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
  return { ...counts, ...(await reconcileTeams(teams, subscriptions, options)) };
}

/** All subscriptions of a customer; `null` when Stripe knows no such customer. */
async function list(
  customerId: string,
  { api: { listSubscriptions }, now }: ReconcileOptions,
  signal: AbortSignal,
): Promise<{ subscriptions: ListedSubscription[]; unreadable: number } | null> {
  const subscriptions: ListedSubscription[] = [];
  let unreadable = 0;
  try {
    const options = { listSubscriptions, customerId, cursor: null, now, signal };
    for await (const listing of readListings(options)) {
      subscriptions.push(...listing.subscriptions);
      unreadable += listing.unreadable;
    }
  } catch (error) {
    if (error instanceof StripeApiFailed && error.isMissing) return null;
    throw error;
  }
  return { subscriptions, unreadable };
}
