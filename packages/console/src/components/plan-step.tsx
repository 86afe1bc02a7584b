import type { TeamPlan } from 'instep/operate';
import { effectOf } from './badges.tsx';
import { UntrustedText } from './text.tsx';

/** The fields of a plan with their names, in the order in which they are shown. */
const PLAN_FIELDS = [
  ['status', 'subscriptionStatus'],
  ['plan', 'planName'],
  ['product', 'providerProductId'],
  ['subscription', 'providerSubscriptionId'],
] as const satisfies readonly (readonly [string, keyof TeamPlan])[];

/** The fields in which two plans differ; `null`: the team never had a plan. */
export function differingFields(one: TeamPlan | null, other: TeamPlan | null) {
  return PLAN_FIELDS.filter(([, field]) => (one?.[field] ?? null) !== (other?.[field] ?? null));
}

/** Whether a team with this plan has something. */
const hasPlan = (plan: TeamPlan | null) => effectOf(plan?.subscriptionStatus ?? '') === 'grants';

/** A plan's name where space is short. */
export function shortPlan(plan: TeamPlan | null): string {
  if (plan === null || plan.subscriptionStatus === null) return 'no plan yet';
  if (!hasPlan(plan)) return `no plan (${plan.subscriptionStatus})`;
  const name = plan.planName ?? plan.providerProductId ?? 'unnamed plan';
  return plan.subscriptionStatus === 'active' ? name : `${name} (${plan.subscriptionStatus})`;
}

type PlanStepProps = { readonly before: TeamPlan | null; readonly after: TeamPlan | null };

/** `Pro → Enterprise`; plans with the same name differ in their ids. */
export function PlanStep({ before, after }: PlanStepProps) {
  const [from, to] = [shortPlan(before), shortPlan(after)];
  if (from !== to) return <Step from={from} to={to} />;
  return (
    <>
      {differingFields(before, after).map(([name, field]) => (
        <div>
          {name} <Step from={before?.[field] ?? 'none'} to={after?.[field] ?? 'none'} />
        </div>
      ))}
    </>
  );
}

type ChangesProps = { readonly is: TeamPlan; readonly shouldBe: TeamPlan | null };

/** What a repair changes in the team's row. */
export function Changes({ is, shouldBe }: ChangesProps) {
  // The missed event may belong to a subscription that does not decide the plan.
  if (differingFields(is, shouldBe).length === 0) return <>No change to the team.</>;
  return <PlanStep before={is} after={shouldBe} />;
}

function Step({ from, to }: { readonly from: string; readonly to: string }) {
  return (
    <>
      <UntrustedText text={from} maxLength={60} /> {/* Some fonts have no arrow. */}
      <svg class="arrow" viewBox="0 0 14 10" role="img" aria-label="to">
        <title>→</title>
        <path d="M0 5h12M8 1l4 4-4 4" />
      </svg>{' '}
      <strong>
        <UntrustedText text={to} maxLength={60} />
      </strong>
    </>
  );
}
