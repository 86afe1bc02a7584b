import type { Child } from 'hono/jsx';
import type { LostPlan, NamedTeam, TeamOrder, TeamSort } from 'instep/operate';
import { StatusBadge } from '../components/badges.tsx';
import { Id } from '../components/id.tsx';
import { type Sort, Table } from '../components/table.tsx';
import { OptionalText, Time, UntrustedText } from '../components/text.tsx';
import { teamName, teamUrl } from '../links/team-links.tsx';
import { sortText, type TeamFields, teamsUrl } from './team-filter.ts';

type Column = { name: string; sort: TeamSort; class?: 'end'; cell: (team: NamedTeam) => Child };

const COLUMNS: readonly Column[] = [
  { name: 'Team', sort: 'name', cell: TeamLink },
  { name: 'Id', class: 'end', sort: 'id', cell: ({ id }) => id },
  {
    name: 'Status',
    sort: 'status',
    cell: ({ plan, dueSinceMs }) => (
      <StatusBadge status={plan.subscriptionStatus} isDue={dueSinceMs !== null} />
    ),
  },
  { name: 'Plan', sort: 'plan', cell: PlanText },
  {
    name: 'Customer',
    sort: 'customer',
    cell: ({ customerId }) => (customerId === null ? '–' : <Id text={customerId} />),
  },
];

/** Shown where a team is due, or the list is sorted by it. */
const DUE_SINCE: Column = {
  name: 'Due since',
  sort: 'due',
  cell: ({ dueSinceMs }) => (dueSinceMs === null ? '–' : <Time ms={dueSinceMs} />),
};

type Sorted = {
  readonly fields: TeamFields;
  readonly order: TeamOrder;
  /** By what else the list can be sorted. */
  readonly sorts: readonly TeamSort[];
};

type TeamTableProps = {
  readonly teams: readonly NamedTeam[];
  /** The order of the list; `null` where it can't be chosen. */
  readonly sorted: Sorted | null;
};

export function TeamTable({ teams, sorted }: TeamTableProps) {
  const isDue = sorted?.order.sort === 'due' || teams.some(({ dueSinceMs }) => dueSinceMs !== null);
  const shown = isDue ? [...COLUMNS, DUE_SINCE] : COLUMNS;
  const columns = shown.map(({ sort, ...column }) => ({
    ...column,
    sort: sorted?.sorts.includes(sort) ? sortBy(sort, sorted) : undefined,
  }));
  const rows = teams.map((team) => shown.map(({ cell }) => cell(team)));
  return <Table label="Teams" columns={columns} rows={rows} />;
}

function sortBy(sort: TeamSort, { fields, order }: Sorted): Sort {
  const isCurrent = order.sort === sort;
  const isDescending = isCurrent && !order.isDescending;
  const direction = order.isDescending ? 'descending' : 'ascending';
  return {
    direction: isCurrent ? direction : 'none',
    href: teamsUrl({ ...fields, sort: sortText({ sort, isDescending }) }),
  };
}

function TeamLink(team: NamedTeam) {
  return (
    <a href={teamUrl(team.id)}>
      <UntrustedText text={teamName(team)} maxLength={80} />
    </a>
  );
}

function PlanText({ plan, lostPlan }: NamedTeam) {
  return lostPlan === null ? <OptionalText text={plan.planName} /> : <LostPlanText {...lostPlan} />;
}

/** The plan that a team had. */
export function LostPlanText({ productId, planName }: LostPlan) {
  return (
    <span class="quiet">
      was <UntrustedText text={planName ?? productId} maxLength={60} />
    </span>
  );
}
