import { PLAN_FIELDS, type TeamPlan } from '../core/transition.ts';
import { paint } from './output.ts';

const COLUMNS = [
  ['status', 'subscriptionStatus', 10],
  ['plan', 'planName', 9],
  ['product', 'providerProductId', 14],
  ['subscription', 'providerSubscriptionId', 14],
] as const satisfies readonly (readonly [string, keyof TeamPlan, number])[];

/** The column headings of `planRow`. */
export function planHead(): string {
  return COLUMNS.map(([head, , width]) => paint('gray', head.padEnd(width + 2))).join('');
}

/** A team's plan in one line. Values that differ from `before` are marked and colored. */
export function planRow(plan: TeamPlan, before: TeamPlan): string {
  return COLUMNS.map(([, field, width]) => {
    const text = plan[field] ?? '-';
    return plan[field] === before[field]
      ? text.padEnd(width + 2)
      : paint(['bold', 'green'], `${text} *`.padEnd(width + 2));
  }).join('');
}

/** The fields that change: `planName Pro → -, subscriptionStatus active → canceled`. */
export function planChanges(is: TeamPlan, shouldBe: TeamPlan): string[] {
  return PLAN_FIELDS.filter((field) => is[field] !== shouldBe[field]).map(
    (field) => `${field} ${is[field] ?? '-'} → ${shouldBe[field] ?? '-'}`,
  );
}
