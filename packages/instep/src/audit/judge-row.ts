// What is wrong with a row, by the subscriptions that Stripe lists of its customer: pure, for audit.ts.

import { bestOf, ENDED_STATUSES, effectOf, isCharged, rankOf } from 'instep-engine/rule';
import type { ListedSubscription } from 'instep-engine/stripe';
import type { AuditedRow } from './audited-table.ts';

/** What is compared of a listed subscription. */
export type Subscription = Pick<
  ListedSubscription,
  'subscriptionId' | 'status' | 'productId' | 'priceId'
>;

export type Rules = {
  /** Whether a subscription whose payment is due keeps its plan. */
  readonly pastDue: 'keep' | 'ended';
  /** For names of plans, the products that they mean; none for one that means no plan. */
  readonly plans: ReadonlyMap<string, readonly string[]>;
};

/** While a payment is due, a subscription counts as paid, or as one that will not be paid any more. */
function counted(status: string, { pastDue }: Rules): string {
  if (status !== 'past_due') return status;
  return pastDue === 'keep' ? 'active' : 'unpaid';
}

/** The best of the subscriptions that give a plan, several if they are equally good. */
export function paidIn(listed: readonly Subscription[], rules: Rules): readonly Subscription[] {
  return bestOf(listed, ({ status }) => counted(status, rules));
}

/** Whether the row says that its customer has a plan. */
export function claimsPlan({ plan, status, hasPlan }: AuditedRow, rules: Rules): boolean {
  const isFree = plan ? rules.plans.get(plan)?.length === 0 : false;
  return hasPlan && !isFree && (!status || rankOf(counted(status, rules)) > 0);
}

/** What is wrong, the first that fits; `own_plan`: nothing at Stripe has given it, or ended it. */
export function judgeRow(row: AuditedRow, listed: readonly Subscription[], rules: Rules) {
  const { status, subscription } = row;
  const statuses = listed.map((one) => counted(one.status, rules));
  const paid = paidIn(listed, rules);
  if (!claimsPlan(row, rules)) return paid.length > 0 ? 'missing' : null;
  if (paid.length === 0) {
    if (statuses.length === 0) return 'own_plan';
    if (statuses.includes('paused') || !statuses.some(ends)) return null;
    return subscription === null ? 'own_plan' : 'ended';
  }
  const same = paid.filter((one) => isPlanOf(row, one, rules));
  if (same.length === 0) return 'other_plan';
  const hasStatus = (one: Subscription) => one.status === status || one.status === 'past_due';
  if (status !== undefined && !same.some(hasStatus)) return 'other_status';
  const isNamed = ({ subscriptionId }: Subscription) => subscriptionId === subscription;
  if (subscription && !same.some(isNamed)) return 'other_subscription';
  return statuses.filter(isCharged).length > 1 ? 'charged_twice' : null;
}

const ends = (status: string) => ENDED_STATUSES.includes(status) || effectOf(status) === 'clears';

/** By product and price where the table has them, else by the plan's name. */
function isPlanOf({ product, price, plan }: AuditedRow, paid: Subscription, { plans }: Rules) {
  if (product === undefined && price === undefined) {
    return plan ? (plans.get(plan)?.includes(paid.productId ?? '') ?? true) : true;
  }
  const isSame = (id: string | null, of: string | null | undefined) => !of || of === id;
  return (
    Boolean(product || price) && isSame(paid.productId, product) && isSame(paid.priceId, price)
  );
}
