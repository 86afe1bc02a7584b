import { PLAN_FIELDS, type TeamPlan } from '../core/transition.ts';
import { type Columns, paint } from './output.ts';

/** The columns of `planCells`. */
export const PLAN_COLUMNS: Columns = [
  ['status', 10],
  ['plan', 9],
  ['product', 14],
  ['subscription', 14],
];

/** A team's plan. Values that differ from `before` are marked and colored. */
export function planCells(plan: TeamPlan, before: TeamPlan): string[] {
  return PLAN_FIELDS.map((field) => {
    const text = plan[field] ?? '-';
    return plan[field] === before[field] ? text : paint(['bold', 'green'], `${text} *`);
  });
}

/** The fields that change: `planName Pro → -, subscriptionStatus active → canceled`. */
export function planChanges(is: TeamPlan, shouldBe: TeamPlan): string[] {
  return PLAN_FIELDS.filter((field) => is[field] !== shouldBe[field]).map(
    (field) => `${field} ${is[field] ?? '-'} → ${shouldBe[field] ?? '-'}`,
  );
}
