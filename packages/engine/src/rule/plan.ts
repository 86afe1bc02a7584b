// What a status does to a team's plan (docs/contract.md, section 3), and how plans are compared.

import { CONTRACT_FIELDS, PLAN_FIELDS, type Plan, planWith } from './plan-fields.ts';
import { effectOf } from './status.ts';

/** The plan of a team that no subscription has given one, or whose customer was taken away. */
export const NO_PLAN: Plan = planWith(() => null);

/** The plan without the fields that only some applications have a column for. */
export function contractPlan(plan: Plan): Plan {
  const names: ReadonlySet<string> = IN_CONTRACT;
  return planWith(({ name }) => (names.has(name) ? plan[name] : null));
}

const IN_CONTRACT = new Set(CONTRACT_FIELDS);

/** Whether two plans are the same, or both are missing. */
export function isSamePlan(a: Plan | null, b: Plan | null): boolean {
  return PLAN_FIELDS.every(({ name }) => (a?.[name] ?? null) === (b?.[name] ?? null));
}

/** Whether a team has a plan now; a team whose plan was cleared has only a status. */
export function hasPlan(plan: Plan): boolean {
  const grantsPlan = effectOf(plan.subscriptionStatus) === 'grants';
  return (
    grantsPlan ||
    PLAN_FIELDS.some((field) => isCleared(field) && (plan[field.name] ?? null) !== null)
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
