// What a status does to a team's plan (docs/contract.md, section 3), and how plans are compared.

import { PLAN_FIELDS, type Plan, type PlanInRow, planWith } from './plan-fields.ts';
import { effectOf } from './status.ts';

/** The plan of a team that no subscription has given one, or whose customer was taken away. */
export const NO_PLAN: Plan = planWith(() => null);

/** Whether two plans are the same, or both are missing. */
export function isSamePlan(a: PlanInRow | null, b: PlanInRow | null): boolean {
  return PLAN_FIELDS.every(({ name }) => (a?.[name] ?? null) === (b?.[name] ?? null));
}

/** Whether a row has this plan, in the fields that it can hold. Where a flag can't be null, it is false in place of null. */
export function isPlanOf(row: PlanInRow, plan: Plan): boolean {
  return PLAN_FIELDS.every(({ name }) => {
    const value = plan[name] ?? null;
    return (
      row[name] === undefined || row[name] === value || (row[name] === false && value === null)
    );
  });
}

/** Whether a team has a plan now; a team whose plan was cleared has only a status. */
export function hasPlan(plan: PlanInRow): boolean {
  const grantsPlan = effectOf(plan.subscriptionStatus ?? null) === 'grants';
  return (
    grantsPlan ||
    PLAN_FIELDS.some((field) => isCleared(field) && (plan[field.name] ?? false) !== false)
  );
}

/** The team's plan if an event that reports these values decides it; `null` when its status has no effect. */
export function planAfter(reported: Plan): Plan | null {
  switch (effectOf(reported.subscriptionStatus)) {
    case 'grants':
      return reported;
    case 'clears':
      return planWith((field) => (isCleared(field) ? null : reported[field.name]));
    case 'none':
      return null;
  }
}

function isCleared({ whenCleared }: (typeof PLAN_FIELDS)[number]): boolean {
  return whenCleared === 'null';
}
