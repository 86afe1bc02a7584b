// What is wrong with the rows of a customer, by what Stripe lists of it: pure, for audit.ts.

import type { TeamRow } from 'instep-engine/postgres';
import {
  bestReports,
  type CustomerState,
  chargedSubscriptions,
  ENDED_STATUSES,
  effectOf,
  type Reported,
  rankOf,
  STATUSES,
  statusesWithAccess,
} from 'instep-engine/rule';
import type { PlanNames } from './plan-names.ts';

/** A row with a customer. An empty text counts as null. */
export type AuditedRow = TeamRow<string>;

/** What can be wrong, in the order in which it counts. */
export type RowCode =
  | 'ended'
  | 'missing'
  | 'other_plan'
  | 'other_status'
  | 'other_subscription'
  | 'charged_twice'
  | 'unknown_customer';

/** `own plan`: nothing at Stripe has given it, or ended it. */
type Verdict = RowCode | 'right' | 'own plan';

export type Rules = {
  /** The fields of a plan that some row has a value of. */
  readonly used: ReadonlySet<string>;
  readonly names: PlanNames;
  /** Whether a subscription whose payment is due keeps its plan. */
  readonly pastDue: 'keep' | 'ended';
  readonly nowSeconds: number;
};

const DUE = statusesWithAccess('in grace');
const PAUSED = statusesWithAccess('if kept');

const reportsIn = ({ subscriptions }: CustomerState) =>
  [...subscriptions.values()].map(({ latest }) => latest.reported);

/** The best of the subscriptions that give a plan, several if they are equally good. */
export function paidIn(state: CustomerState, pastDue: Rules['pastDue']): readonly Reported[] {
  const best = bestReports(state);
  if (best.length > 0 || pastDue === 'ended') return best;
  return reportsIn(state).filter(({ status }) => DUE.includes(status));
}

/**
 * What is wrong with each row of a customer. Of several rows, one that names a subscription is about this one alone, and
 * one row with a plan is enough.
 */
export function judgeRows(
  rows: readonly AuditedRow[],
  state: CustomerState,
  rules: Rules,
): readonly (readonly [AuditedRow, Verdict])[] {
  const withPlan = rows.filter((row) => claimsPlan(row, rules));
  const isMissing = withPlan.length === 0 && paidIn(state, rules.pastDue).length > 0;
  return rows.map((row, index) => {
    if (!withPlan.includes(row)) return [row, isMissing && index === 0 ? 'missing' : 'right'];
    const id = row.providerSubscriptionId ?? null;
    const named = rows.length > 1 ? state.subscriptions.get(id) : undefined;
    const subscriptions = named === undefined ? state.subscriptions : new Map([[id, named]]);
    return [row, judgePlan(row, { ...state, subscriptions }, rules)];
  });
}

function judgePlan(row: AuditedRow, state: CustomerState, rules: Rules): Verdict {
  const id = row.providerSubscriptionId;
  const reports = reportsIn(state);
  const paid = paidIn(state, rules.pastDue);
  if (paid.length === 0) {
    if (reports.length === 0) return 'own plan';
    if (reports.some(({ status }) => PAUSED.includes(status)) || !reports.some(hasEnded)) {
      return 'right';
    }
    return id === null || id === '' ? 'own plan' : 'ended';
  }
  const same = paid.filter((one) => isPlanOf(row, one, rules));
  if (same.length === 0) return 'other_plan';
  const status = knownStatus(row);
  const isComparable = rules.used.has('subscriptionStatus') && status !== undefined;
  const isLive = reports.some((one) => rankOf(one.status) > 0);
  if (isLive && isComparable && same.every((one) => one.status !== status)) return 'other_status';
  const isOther = id && same.every(({ plan }) => plan.providerSubscriptionId !== id);
  if (isOther) return 'other_subscription';
  return chargedSubscriptions(state).length > 1 ? 'charged_twice' : 'right';
}

/** Whether a subscription has ended, for the plan; one whose payment is due has, if it is not kept. */
const hasEnded = ({ status }: Reported) =>
  ENDED_STATUSES.includes(status) || effectOf(status) === 'clears' || DUE.includes(status);

/** The status in Stripe's words; `undefined` for a word of the app's own. */
function knownStatus({ subscriptionStatus }: AuditedRow): string | null | undefined {
  const status = subscriptionStatus?.toLowerCase().replace('cancelled', 'canceled') || null;
  return status === null || Object.hasOwn(STATUSES, status) ? status : undefined;
}

const DAY_SECONDS = 24 * 60 * 60;

/** Whether the row says that its customer has a plan. */
export function claimsPlan(row: AuditedRow, { used, names, pastDue, nowSeconds }: Rules): boolean {
  const { planName, currentPeriodEndsAt } = row;
  const plan = row.providerProductId || row.priceId;
  const isNoPlan = planName && names.productsOf(planName)?.length === 0;
  if (isNoPlan && !plan && !row.providerSubscriptionId) return false;
  const status = knownStatus(row);
  if (status) return rankOf(status) > 0 || (pastDue === 'keep' && DUE.includes(status));
  // Without a status, apps look whether the period is over.
  if (currentPeriodEndsAt && currentPeriodEndsAt + DAY_SECONDS < nowSeconds) return false;
  const isNamed = ['planName', ...PLAN_IDS].some((field) => used.has(field));
  return Boolean(isNamed ? plan || planName : row.providerSubscriptionId);
}

const PLAN_IDS = ['providerProductId', 'priceId'] as const;

/** By product and price where the table has them, else by the plan's name. */
function isPlanOf(row: AuditedRow, { plan }: Reported, { used, names }: Rules): boolean {
  const ids = PLAN_IDS.filter((field) => used.has(field));
  if (ids.length > 0) {
    const named = ids.filter((field) => row[field]);
    return named.length > 0 && named.every((field) => row[field] === plan[field]);
  }
  if (!row.planName) return !used.has('planName');
  const { providerProductId: productId } = plan;
  return productId === null || names.productsOf(row.planName)?.includes(productId) !== false;
}
