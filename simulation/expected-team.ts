/**
 * Derives the state that a team must be in from the true history. It implements the ordering rule a second
 * time on purpose, in a different way, and imports nothing of the code that it is compared with.
 */

/** A change of a subscription. Lists of them are in the true order. */
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

/** The statuses with an effect. Those above 1 grant a plan; a higher number is better. */
const RANK: Readonly<Record<string, number>> = { active: 3, trialing: 2, canceled: 1, unpaid: 1 };

/** Whether a status grants the plan or clears it. */
export function hasEffect(status: string): boolean {
  return status in RANK;
}

/** A plan that the application gives away. */
export function giftRecord(hasProduct: boolean): TeamRecord {
  return {
    providerSubscriptionId: null,
    providerProductId: hasProduct ? 'prod_gift' : null,
    planName: 'Gift',
    subscriptionStatus: 'active',
  };
}

/** The correct state of the team of a customer with this history. */
export function expectedTeam(history: readonly TrueChange[], plan: 'newest' | 'best'): TeamRecord {
  const decisive = decisiveChange(history, plan);
  if (decisive === undefined) return record(null, null);
  return grants(decisive) ? record(decisive, decisive.status) : record(null, decisive.status);
}

/**
 * The possible states of a team into which the application wrote a plan: that plan, unless the event that the
 * team must follow was decided after the write. `isLater` tells whether the event of a change was decided later.
 */
export function acceptableTeams<Change extends TrueChange>(
  history: readonly Change[],
  plan: 'newest' | 'best',
  written: TeamRecord,
  isLater: (change: Change) => boolean,
): readonly TeamRecord[] {
  const team = expectedTeam(history, plan);
  const decisive = decisiveChange(history, plan);
  if (decisive === undefined) return [written];
  const { createdSeconds } = decisive;
  const isAlone = history.filter((one) => one.createdSeconds === createdSeconds).length === 1;
  // Among several events of a second, the team can follow another one in the meantime.
  if (!isAlone) return [team, written];
  if (plan === 'newest') return isLater(decisive) ? [team] : [written];
  // With `best`, the team can follow another subscription in the meantime, and the end of an old subscription does not
  // affect a new one without events.
  return isLater(decisive) && grants(decisive) ? [team] : [team, written];
}

/** The history with this change after all others of its subscription and second. */
export function withLast(history: readonly TrueChange[], last: TrueChange): readonly TrueChange[] {
  const { subscriptionId, createdSeconds } = last;
  const isInSecond = (one: TrueChange) =>
    one.subscriptionId === subscriptionId && one.createdSeconds === createdSeconds;
  const others = history.filter((one) => one !== last);
  const place = Math.max(others.findLastIndex(isInSecond) + 1, history.indexOf(last));
  return others.toSpliced(place, 0, last);
}

/** A subscription's true status, and when it began. */
export type LatestStatus = {
  readonly subscriptionId: string;
  readonly status: string;
  readonly sinceSeconds: number;
};

/** The true status of each subscription, in the order of their ids. */
export function expectedLatest(history: readonly TrueChange[]): readonly LatestStatus[] {
  const latest = new Map<string, LatestStatus>();
  for (const { subscriptionId } of history) {
    const own = history.filter((one) => one.subscriptionId === subscriptionId);
    const last = own.at(-1);
    if (last === undefined) continue;
    const others = own.filter(({ status }) => status !== last.status);
    const lastOther = others.at(-1)?.createdSeconds ?? -1;
    // Events in the second of another status count only if nothing happened later.
    const run = own.find(({ createdSeconds }) => createdSeconds > lastOther) ?? last;
    const sinceSeconds = run.createdSeconds;
    latest.set(subscriptionId, { subscriptionId, status: last.status, sinceSeconds });
  }
  return [...latest.values()].sort((a, b) => (a.subscriptionId < b.subscriptionId ? -1 : 1));
}

/** Whether a row has a plan that the application gave away and that counts: no subscription grants one. */
export function isGift(row: TeamRecord, history: readonly TrueChange[]): boolean {
  const best = decisiveChange(history, 'best');
  const isOfNoSubscription = row.providerSubscriptionId === null && row.planName !== null;
  return isOfNoSubscription && (best === undefined || !grants(best));
}

/** The subscription that decides a team's access, and its true status. */
export type ExpectedAccess = { readonly subscriptionId: string; readonly status: string };

/** The access of a team while past due keeps it and paused does not; `null` without any subscription. */
export function expectedAccess(
  history: readonly TrueChange[],
  plan: 'newest' | 'best',
): ExpectedAccess | null {
  const latest = expectedLatest(history);
  const statuses = new Map(latest.map((one) => [one.subscriptionId, one.status]));
  const most = new Set(plan === 'best' ? idsWithMostAccess(latest) : statuses.keys());
  const considered = history.filter(({ subscriptionId }) => most.has(subscriptionId));
  const last = [...considered].sort(
    (a, b) => b.createdSeconds - a.createdSeconds || (a.subscriptionId < b.subscriptionId ? 1 : -1),
  )[0];
  const { subscriptionId } = decisiveChange(considered, plan) ?? last ?? {};
  const status = statuses.get(subscriptionId ?? '');
  return subscriptionId === undefined || status === undefined ? null : { subscriptionId, status };
}

/** The subscriptions that keep access the longest; all of them, if none has it. */
function idsWithMostAccess(latest: readonly LatestStatus[]): readonly string[] {
  const paid = latest.filter(({ status }) => status === 'active' || status === 'trialing');
  const due = latest.filter(({ status }) => status === 'past_due');
  const lastDue = Math.max(...due.map(({ sinceSeconds }) => sinceSeconds));
  const dueLast = due.filter(({ sinceSeconds }) => sinceSeconds === lastDue);
  const most = [paid, dueLast].find(({ length }) => length > 0) ?? latest;
  return most.map(({ subscriptionId }) => subscriptionId);
}

/** The change that the team follows. */
function decisiveChange<Change extends TrueChange>(
  history: readonly Change[],
  plan: 'newest' | 'best',
): Change | undefined {
  const lastChanges: Record<string, Change> = {};
  for (const change of history) {
    if (hasEffect(change.status)) lastChanges[change.subscriptionId] = change;
  }
  return Object.values(lastChanges).sort((a, b) => precedence(b, a, plan))[0];
}

function grants({ status }: TrueChange): boolean {
  return (RANK[status] ?? 0) > 1;
}

/** Positive when the first of two subscriptions' last changes takes precedence. */
function precedence(one: TrueChange, other: TrueChange, plan: 'newest' | 'best'): number {
  const byRank = (RANK[one.status] ?? 0) - (RANK[other.status] ?? 0);
  const byTime = one.createdSeconds - other.createdSeconds;
  const criteria = plan === 'best' ? [byRank, byTime] : [byTime, byRank];
  const difference = criteria.find((one) => one !== 0);
  return difference ?? (one.subscriptionId > other.subscriptionId ? 1 : -1);
}

function record(change: TrueChange | null, status: string | null): TeamRecord {
  return {
    providerSubscriptionId: change?.subscriptionId ?? null,
    providerProductId: change?.productId ?? null,
    planName: change?.productName ?? null,
    subscriptionStatus: status,
  };
}
