// What is wrong with a row, by the subscriptions that Stripe lists of its customer: pure, for audit.ts.

import { withListed } from 'instep-engine/repair';
import {
  bestReports,
  chargedSubscriptions,
  ENDED_STATUSES,
  effectOf,
  NO_STATE,
  rankOf,
  STATUSES,
  statusesWithAccess,
} from 'instep-engine/rule';
import type { AuditedRow, Name } from './audited-table.ts';

/** What is compared of a listed subscription. */
export type Subscription = {
  readonly subscription: string;
  readonly status: string;
  readonly product: string | null;
  readonly price: string | null;
};

export type Rules = {
  /** What some row has a value of. */
  readonly used: ReadonlySet<Name>;
  /** For names of plans, the products that they mean; none for one that means no plan. */
  readonly plans: ReadonlyMap<string, readonly string[]>;
  /** Whether a subscription whose payment is due keeps its plan. */
  readonly pastDue: 'keep' | 'ended';
};

const DUE = statusesWithAccess('in grace');
const PAUSED = statusesWithAccess('if kept');
const IDS = ['product', 'price'] as const;

/** What apps call having no plan. */
const NO_PLAN = /^(?:free|none)$/i;

/** The products that the name of a plan means; `undefined`: nobody who has it pays. */
export function productsOf(name: string, plans: Rules['plans']): readonly string[] | undefined {
  return plans.get(name) ?? (NO_PLAN.test(name) ? [] : undefined);
}

/** While a payment is due, a subscription counts as paid, or as one that will not be paid any more. */
function counted(status: string, pastDue: Rules['pastDue']): string {
  if (!DUE.includes(status)) return status;
  return pastDue === 'keep' ? 'active' : 'unpaid';
}

/** The engine's state of a customer. Nothing shows which subscription changed last, so all have the same date. */
const stateOf = (subscriptions: readonly Subscription[], pastDue: Rules['pastDue']) =>
  subscriptions.reduce((state, { subscription: id, status, product, price }) => {
    const items = { data: [{ price: { id: price, product } }] };
    const object = { id, customer: 'cus', status: counted(status, pastDue), items };
    return withListed(state, { listed: { object }, seconds: 0 });
  }, NO_STATE);

/** The best of the subscriptions that give a plan, several if they are equally good. */
export function paidIn(
  subscriptions: readonly Subscription[],
  pastDue: Rules['pastDue'],
): readonly Subscription[] {
  const best = bestReports(stateOf(subscriptions, pastDue));
  const ids = best.map(({ plan }) => plan.providerSubscriptionId);
  return subscriptions.filter(({ subscription }) => ids.includes(subscription));
}

/** Whether the row says that its customer has a plan: it names one, and does not say that it is over. */
export function claimsPlan(row: AuditedRow, { used, plans, pastDue }: Rules): boolean {
  const name = row.plan && productsOf(row.plan, plans)?.length !== 0;
  const isNamed = used.has('plan') || IDS.some((id) => used.has(id));
  if (isNamed && !name && IDS.every((id) => !row[id])) return false;
  const status = knownStatus(row);
  if (status) return rankOf(counted(status, pastDue)) > 0;
  // Without a status, apps look whether the period is over.
  return !row.isOver && (isNamed || Boolean(row.subscription));
}

/** What is wrong, the first that fits; `own_plan`: nothing at Stripe has given it, or ended it. */
export function judgeRow(row: AuditedRow, subscriptions: readonly Subscription[], rules: Rules) {
  const { used, pastDue } = rules;
  const paid = paidIn(subscriptions, pastDue);
  if (!claimsPlan(row, rules)) return paid.length > 0 ? 'missing' : null;
  if (paid.length === 0) {
    const statuses = subscriptions.map(({ status }) => counted(status, pastDue));
    if (statuses.length === 0) return 'own_plan';
    if (statuses.some((status) => PAUSED.includes(status)) || !statuses.some(ends)) return null;
    return row.subscription === null ? 'own_plan' : 'ended';
  }
  const same = paid.filter((one) => isPlanOf(row, one, rules));
  if (same.length === 0) return 'other_plan';
  const is = used.has('status') ? knownStatus(row) : undefined;
  const hasStatus = ({ status }: Subscription) => status === is || DUE.includes(status);
  if (is !== undefined && !same.some(hasStatus)) return 'other_status';
  const hasSubscription = ({ subscription }: Subscription) => subscription === row.subscription;
  if (row.subscription && !same.some(hasSubscription)) return 'other_subscription';
  const charged = chargedSubscriptions(stateOf(subscriptions, pastDue));
  return charged.length > 1 ? 'charged_twice' : null;
}

const ends = (status: string) => ENDED_STATUSES.includes(status) || effectOf(status) === 'clears';

/** The status in Stripe's words; `undefined` for a word of the app's own. */
function knownStatus(row: AuditedRow): string | null | undefined {
  const status = row.status?.toLowerCase().replace('cancelled', 'canceled') ?? null;
  return status === null || Object.hasOwn(STATUSES, status) ? status : undefined;
}

/** By product and price where the table has them, else by the plan's name. */
function isPlanOf(row: AuditedRow, paid: Subscription, { used, plans }: Rules): boolean {
  if (!IDS.some((id) => used.has(id))) {
    const products = row.plan ? productsOf(row.plan, plans) : undefined;
    return products === undefined || products.includes(paid.product ?? '');
  }
  const named = IDS.filter((id) => row[id]);
  return named.length > 0 && named.every((id) => row[id] === paid[id]);
}
