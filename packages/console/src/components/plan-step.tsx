import type { TeamPlan } from 'instep-operate';
import { effectOf } from './badges.tsx';
import { capitalized, UntrustedText } from './text.tsx';

/** The fields of a plan with their names, in the order in which they are shown. */
const NAMES = {
  subscriptionStatus: 'status',
  planName: 'plan',
  providerProductId: 'product',
  providerSubscriptionId: 'subscription',
  priceId: 'price',
  quantity: 'quantity',
  currentPeriodEndsAt: 'period ends',
  cancelAtPeriodEnd: 'ends with its period',
  trialEndsAt: 'trial ends',
} as const satisfies Readonly<Record<keyof TeamPlan, string>>;

type Field = keyof TeamPlan;

const FIELDS = Object.keys(NAMES).filter((name): name is Field => name in NAMES);

/** The fields in which two plans differ; `null`: the team never had a plan. */
export function differingFields(one: TeamPlan | null, other: TeamPlan | null): readonly Field[] {
  return FIELDS.filter((field) => (one?.[field] ?? null) !== (other?.[field] ?? null));
}

function textOf(plan: TeamPlan | null, field: Field): string | null {
  const value = plan?.[field] ?? null;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'number') return value;
  if (field === 'quantity') return String(value);
  return new Date(value * 1_000).toISOString().slice(0, 16).replace('T', ' ');
}

/** The fields that the contract does not have, of those that the application's table has. */
export function otherFields(plan: TeamPlan) {
  return FIELDS.slice(4)
    .filter((field) => field in plan)
    .map((field) => ({ label: capitalized(NAMES[field]), text: textOf(plan, field) }));
}

/** A plan's name where space is short. */
export function shortPlan(plan: TeamPlan | null): string {
  const {
    subscriptionStatus: status = 'active',
    planName,
    providerProductId,
    priceId,
  } = plan ?? {};
  if (plan === null || status === null) return 'no plan yet';
  if (effectOf(status) !== 'grants') return `no plan (${status})`;
  const name = planName ?? providerProductId ?? priceId;
  if (plan.subscriptionStatus === undefined) return name ?? 'no plan';
  return `${name ?? 'unnamed plan'}${status === 'active' ? '' : ` (${status})`}`;
}

type PlanStepProps = { readonly before: TeamPlan | null; readonly after: TeamPlan | null };

/** `Pro → Enterprise`; plans with the same name differ in their ids. */
export function PlanStep({ before, after }: PlanStepProps) {
  const [from, to] = [shortPlan(before), shortPlan(after)];
  if (from !== to) return <Step from={from} to={to} />;
  const differing = differingFields(before, after);
  // The missed event may belong to a subscription that does not decide the plan.
  if (differing.length === 0) return <>No change to the team.</>;
  return (
    <>
      {differing.map((field) => (
        <div>
          {NAMES[field]}{' '}
          <Step from={textOf(before, field) ?? 'none'} to={textOf(after, field) ?? 'none'} />
        </div>
      ))}
    </>
  );
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
