// What is wrong with a row, by what Stripe lists of its customer: pure, for audit.ts.

import { stateOfListed } from 'instep-engine/repair';
import {
  bestReports,
  chargedSubscriptions,
  ENDED_STATUSES,
  effectOf,
  type Reported,
  rankOf,
  STATUSES,
  statusesWithAccess,
} from 'instep-engine/rule';
import type { ListedSubscription } from 'instep-engine/stripe';
import type { AuditedRow, AuditedTable } from './audited-table.ts';
import type { PlanNames } from './plan-names.ts';

/** What can be wrong, in the order in which it counts. */
export type RowCode =
  | 'ended'
  | 'missing'
  | 'other_plan'
  | 'other_status'
  | 'other_subscription'
  | 'charged_twice'
  | 'unknown_customer';

export type Rules = {
  readonly table: Pick<AuditedTable, 'has' | 'isUsed'>;
  readonly names: PlanNames;
  /** Whether a subscription whose payment is due keeps its plan. */
  readonly pastDue: 'keep' | 'ended';
  readonly nowSeconds: number;
};

const DUE = statusesWithAccess('in grace');
const PAUSED = statusesWithAccess('if kept');

/** The best of the subscriptions that give a plan, several if they are equally good. */
export function paidFor(listed: readonly ListedSubscription[], pastDue: Rules['pastDue']) {
  const best = bestReports(stateOfListed(listed));
  if (best.length > 0 || pastDue === 'ended') return best;
  const due = listed.filter(({ status }) => DUE.includes(status));
  const kept = due.map((one) => ({ ...one, object: { ...one.object, status: 'active' } }));
  return bestReports(stateOfListed(kept));
}

/** What is wrong with a row; `own plan`: nothing at Stripe has given its plan, or ended it. */
export function judgeRow(
  row: AuditedRow,
  listed: readonly ListedSubscription[],
  rules: Rules,
): RowCode | 'right' | 'own plan' {
  const { table, pastDue } = rules;
  const { providerSubscriptionId: id } = row;
  const paid = paidFor(listed, pastDue);
  if (!claimsPlan(row, rules)) return paid.length === 0 ? 'right' : 'missing';
  if (paid.length === 0) {
    if (listed.length === 0) return 'own plan';
    const isKept = listed.some(({ status }) => PAUSED.includes(status));
    if (isKept || !listed.some(isEnded)) return 'right';
    return table.has('providerSubscriptionId') && id === null ? 'own plan' : 'ended';
  }
  const same = paid.filter((one) => isPlanOf(row, one, rules));
  if (same.length === 0) return 'other_plan';
  const status = knownStatus(row);
  const isComparable = listed.some((one) => rankOf(one.status) > 0) && status !== undefined;
  if (table.isUsed('subscriptionStatus') && isComparable) {
    if (same.every((one) => one.status !== status)) return 'other_status';
  }
  const isOther = id !== null && same.every(({ plan }) => plan.providerSubscriptionId !== id);
  if (isOther) return 'other_subscription';
  return chargedSubscriptions(stateOfListed(listed)).length > 1 ? 'charged_twice' : 'right';
}

/** Whether a subscription has ended, for the plan; one whose payment is due has, if it is not kept. */
const isEnded = ({ status }: ListedSubscription) =>
  ENDED_STATUSES.includes(status) || effectOf(status) === 'clears' || DUE.includes(status);

/** The status in Stripe's words; `undefined` for a word of the app's own. */
function knownStatus({ subscriptionStatus }: AuditedRow): string | null | undefined {
  const status = subscriptionStatus?.toLowerCase().replace('cancelled', 'canceled') ?? null;
  return status === null || Object.hasOwn(STATUSES, status) ? status : undefined;
}

const DAY_SECONDS = 24 * 60 * 60;

/** Whether the row says that its customer has a plan. */
export function claimsPlan(row: AuditedRow, { table, names, pastDue, nowSeconds }: Rules): boolean {
  const { planName, providerProductId, priceId, providerSubscriptionId, periodEndSeconds } = row;
  const id = providerProductId ?? priceId ?? providerSubscriptionId;
  if (id === null && planName !== null && names.productsOf(planName)?.length === 0) return false;
  const status = knownStatus(row);
  if (status) return rankOf(status) > 0 || (pastDue === 'keep' && DUE.includes(status));
  // Without a status, apps look whether the period is over.
  if (periodEndSeconds !== null && periodEndSeconds + DAY_SECONDS < nowSeconds) return false;
  const plan = providerProductId ?? priceId ?? planName;
  const isNamed = (['planName', 'providerProductId', 'priceId'] as const).some(table.isUsed);
  return (isNamed ? plan : providerSubscriptionId) !== null;
}

/** By product and price where the table has them, else by the plan's name. */
function isPlanOf(row: AuditedRow, { plan }: Reported, { table, names }: Rules): boolean {
  const ids = (['providerProductId', 'priceId'] as const).filter(table.isUsed);
  if (ids.length > 0) {
    const named = ids.filter((field) => row[field] !== null);
    return named.length > 0 && named.every((field) => row[field] === plan[field]);
  }
  const { planName } = row;
  if (planName === null) return !table.isUsed('planName');
  const { providerProductId: productId } = plan;
  return productId === null || names.productsOf(planName)?.includes(productId) !== false;
}
