import type { Child } from 'hono/jsx';
import { PLAN_FIELDS, type TeamPlan } from '../../../core/transition.ts';
import { StatusBadge } from './badges.tsx';
import { Table } from './table.tsx';
import { OptionalText } from './text.tsx';

export type PlanRow = {
  readonly name: Child;
  readonly plan: TeamPlan;
  /** Differences to this plan are marked. */
  readonly comparedWith?: TeamPlan;
};

const COLUMNS = ['When', 'Status', 'Plan', 'Product', 'Subscription'];

type PlanTableProps = { readonly label: string; readonly rows: readonly PlanRow[] };

/** Plans below each other, with the differences marked. */
export function PlanTable({ label, rows }: PlanTableProps) {
  const cellsOf = ({ name, plan, comparedWith = plan }: PlanRow): Child[] => [
    name,
    ...PLAN_FIELDS.map((field) => (
      <>
        {field === 'subscriptionStatus' ? (
          <StatusBadge status={plan[field]} />
        ) : (
          <OptionalText text={plan[field]} />
        )}
        {comparedWith[field] !== plan[field] && <span class="changed"> changed</span>}
      </>
    )),
  ];
  return <Table label={label} columns={COLUMNS} rows={rows.map(cellsOf)} hasRowNames />;
}
