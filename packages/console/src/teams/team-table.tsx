import type { NamedTeam } from 'instep-operate';
import { StatusBadge } from '../components/badges.tsx';
import { Id } from '../components/id.tsx';
import { Table } from '../components/table.tsx';
import { OptionalText, Time, UntrustedText } from '../components/text.tsx';
import { type TeamFields, teamName, teamsUrl, teamUrl } from '../links/subject-links.tsx';

type TeamTableProps = {
  readonly teams: readonly NamedTeam[];
  /** The filters of the list. */
  readonly fields?: Partial<TeamFields>;
};

export function TeamTable({ teams, fields = {} }: TeamTableProps) {
  const hasDue = teams.some(({ dueSinceMs }) => dueSinceMs !== null);
  const columns = [
    'Team',
    { name: 'Id', class: 'end' as const },
    'Status',
    'Plan',
    'Customer',
    ...(hasDue ? ['Due since'] : []),
  ];
  const rows = teams.map((team) => {
    const { id, plan, customerId, dueSinceMs } = team;
    return [
      <a href={teamUrl(id)}>
        <UntrustedText text={teamName(team)} maxLength={80} />
      </a>,
      id,
      <StatusBadge status={plan.subscriptionStatus ?? null} isDue={dueSinceMs !== null} />,
      <PlanLink team={team} fields={fields} />,
      customerId === null ? '–' : <Id text={customerId} />,
      ...(hasDue ? [dueSinceMs === null ? '–' : <Time ms={dueSinceMs} />] : []),
    ];
  });
  return <Table label="Teams" columns={columns} rows={rows} />;
}

type PlanLinkProps = { readonly team: NamedTeam; readonly fields: Partial<TeamFields> };

/** A link to the teams that have or had the same plan. */
function PlanLink({ team: { plan, lostPlan }, fields }: PlanLinkProps) {
  const name =
    lostPlan === null
      ? (plan.planName ?? plan.providerProductId ?? plan.priceId ?? null)
      : (lostPlan.planName ?? lostPlan.productId);
  if (name === null) return <OptionalText text={null} />;
  return (
    <a href={teamsUrl({ ...fields, plan: name })}>
      {lostPlan !== null && 'was '}
      <UntrustedText text={name} maxLength={60} />
    </a>
  );
}
