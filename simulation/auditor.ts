/**
 * Says what a team must be, from nothing but what truly happened. It is written a second time on
 * purpose, in other words than the rule itself, and imports nothing of what it audits.
 */

/** What truly happened to a subscription; a list of them is in the true order. */
export type TrueChange = {
  readonly createdSeconds: number;
  readonly subscriptionId: string;
  readonly status: string;
  readonly productId: string | null;
  readonly productName: string;
};

/** A team's subscription fields, as the contract names them. */
export type TeamRecord = {
  readonly providerSubscriptionId: string | null;
  readonly providerProductId: string | null;
  readonly planName: string | null;
  readonly subscriptionStatus: string | null;
};

/** The better a status, the larger: what gives a plan, what takes it away. Others say nothing. */
const WORTH: Readonly<Record<string, number>> = { active: 3, trialing: 2, canceled: 1, unpaid: 1 };

/** What the team of a customer with this history must be. */
export function auditTeam(history: readonly TrueChange[], plan: 'newest' | 'best'): TeamRecord {
  // The last word on each subscription, in the true order.
  const lastWords: Record<string, TrueChange> = {};
  for (const change of history) {
    if (change.status in WORTH) lastWords[change.subscriptionId] = change;
  }
  const [counts] = Object.values(lastWords).sort((a, b) => precedence(b, a, plan));
  if (counts === undefined) return record(null, null);
  return (WORTH[counts.status] ?? 0) > 1
    ? record(counts, counts.status)
    : record(null, counts.status);
}

/** More than zero when the first of two subscriptions' last words comes before the other. */
function precedence(one: TrueChange, other: TrueChange, plan: 'newest' | 'best'): number {
  const byWorth = (WORTH[one.status] ?? 0) - (WORTH[other.status] ?? 0);
  const byTime = one.createdSeconds - other.createdSeconds;
  const criteria = plan === 'best' ? [byWorth, byTime] : [byTime, byWorth];
  const decisive = criteria.find((difference) => difference !== 0);
  return decisive ?? (one.subscriptionId > other.subscriptionId ? 1 : -1);
}

function record(change: TrueChange | null, status: string | null): TeamRecord {
  return {
    providerSubscriptionId: change?.subscriptionId ?? null,
    providerProductId: change?.productId ?? null,
    planName: change?.productName ?? null,
    subscriptionStatus: status,
  };
}
