import type { Child } from 'hono/jsx';
import type { TeamPlan } from '../../../core/transition.ts';
import { StatusBadge } from './status-badge.tsx';
import { Table } from './table.tsx';
import { UntrustedText } from './untrusted-text.tsx';

export type PlanRow = {
  readonly name: Child;
  readonly plan: TeamPlan;
  /** What differs from it is marked; `null`: nothing is. */
  readonly comparedWith: TeamPlan | null;
};

/** Plans beneath each other. What has changed is marked, and says so. */
export function PlanTable({
  label,
  rows,
}: {
  readonly label: string;
  readonly rows: readonly PlanRow[];
}) {
  return (
    <Table label={label} columns={['When', 'Status', 'Plan', 'Product', 'Subscription']}>
      {rows.map(({ name, plan, comparedWith }) => {
        const isChanged = (field: keyof TeamPlan) =>
          comparedWith !== null && comparedWith[field] !== plan[field];
        return (
          <tr>
            <th scope="row">{name}</th>
            <Cell isChanged={isChanged('subscriptionStatus')}>
              <StatusBadge status={plan.subscriptionStatus} />
            </Cell>
            <Cell isChanged={isChanged('planName')}>{shown(plan.planName)}</Cell>
            <Cell isChanged={isChanged('providerProductId')}>{shown(plan.providerProductId)}</Cell>
            <Cell isChanged={isChanged('providerSubscriptionId')}>
              {shown(plan.providerSubscriptionId)}
            </Cell>
          </tr>
        );
      })}
    </Table>
  );
}

function Cell({ isChanged, children }: { readonly isChanged: boolean; readonly children: Child }) {
  if (!isChanged) return <td>{children}</td>;
  return (
    <td class="changed">
      {children} <span class="changed-note">changed</span>
    </td>
  );
}

function shown(text: string | null): Child {
  return text === null ? '–' : <UntrustedText text={text} maxLength={60} />;
}

/** Of a team of which nothing is known. */
export const NO_PLAN: TeamPlan = {
  providerSubscriptionId: null,
  providerProductId: null,
  planName: null,
  subscriptionStatus: null,
};
