import type { Child } from 'hono/jsx';
import type { TeamPlan } from 'instep/operate';
import { PLAN_FIELDS } from 'instep/operate/inside';
import { StatusBadge } from './badges.tsx';
import { Table } from './table.tsx';
import { OptionalText } from './text.tsx';

export type PlanRow = {
  readonly name: Child;
  readonly plan: TeamPlan;
  /** Differences to this plan are marked. */
  readonly comparedWith?: TeamPlan;
};

type PlanTableProps = {
  readonly label: string;
  /** The heading of the rows' names. */
  readonly namesAre: string;
  readonly rows: readonly PlanRow[];
  /** Marks a difference. */
  readonly mark: 'changed' | 'differs';
};

/** Plans below each other, with the differences marked. */
export function PlanTable({ label, namesAre, rows, mark }: PlanTableProps) {
  const cellsOf = ({ name, plan, comparedWith = plan }: PlanRow): Child[] => [
    name,
    ...PLAN_FIELDS.map((field) => (
      <>
        {field === 'subscriptionStatus' ? (
          <StatusBadge status={plan[field]} />
        ) : (
          <OptionalText text={plan[field]} />
        )}
        {comparedWith[field] !== plan[field] && <span class={mark}> {mark}</span>}
      </>
    )),
  ];
  const columns = [namesAre, 'Status', 'Plan', 'Product', 'Subscription'];
  return <Table label={label} columns={columns} rows={rows.map(cellsOf)} hasRowNames />;
}
