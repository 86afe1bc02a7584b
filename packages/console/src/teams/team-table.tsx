import type { LostPlan, NamedTeam, TeamOrder, TeamSort } from 'instep/operate';
import { StatusBadge } from '../components/badges.tsx';
import { Id } from '../components/id.tsx';
import { type Sort, Table } from '../components/table.tsx';
import { OptionalText, Time, UntrustedText } from '../components/text.tsx';
import { teamName, teamUrl } from '../links/team-links.tsx';
import { sortText, type TeamFields, teamsUrl } from './team-filter.ts';

const COLUMNS = [
  { name: 'Team', sort: 'name' },
  { name: 'Id', class: 'end', sort: 'id' },
  { name: 'Status', sort: 'status' },
  { name: 'Plan', sort: 'plan' },
  { name: 'Customer', sort: 'customer' },
  { name: 'Due since', sort: 'due' },
] as const;

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
  const end = isDue ? COLUMNS.length : -1;
  const columns = COLUMNS.slice(0, end).map(({ sort, ...column }) => ({
    ...column,
    sort: sorted?.sorts.includes(sort) ? sortBy(sort, sorted) : undefined,
  }));
  return (
    <Table
      label="Teams"
      columns={columns}
      rows={teams.map((team) => teamCells(team).slice(0, end))}
    />
  );
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

function teamCells(team: NamedTeam) {
  const { id, customerId, plan, lostPlan, dueSinceMs } = team;
  return [
    <a href={teamUrl(id)}>
      <UntrustedText text={teamName(team)} maxLength={80} />
    </a>,
    id,
    <StatusBadge status={plan.subscriptionStatus} />,
    lostPlan === null ? <OptionalText text={plan.planName} /> : <LostPlanText {...lostPlan} />,
    customerId === null ? '–' : <Id text={customerId} />,
    dueSinceMs === null ? '–' : <Time ms={dueSinceMs} />,
  ];
}

/** The plan that a team had. */
export function LostPlanText({ productId, planName }: LostPlan) {
  return (
    <span class="quiet">
      was <UntrustedText text={planName ?? productId} maxLength={60} />
    </span>
  );
}
