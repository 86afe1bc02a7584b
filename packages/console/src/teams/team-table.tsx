import type { NamedTeam } from 'instep-operate';
import { StatusBadge } from '../components/badges.tsx';
import { Id } from '../components/id.tsx';
import { Table } from '../components/table.tsx';
import { OptionalText, UntrustedText } from '../components/text.tsx';
import { type TeamFields, teamName, teamsUrl, teamUrl } from '../links/subject-links.tsx';

type TeamTableProps = {
  readonly teams: readonly NamedTeam[];
  /** The filters of the list. */
  readonly fields?: Partial<TeamFields>;
};

const COLUMNS = ['Team', { name: 'Id', class: 'end' }, 'Status', 'Plan', 'Customer'] as const;

export function TeamTable({ teams, fields = {} }: TeamTableProps) {
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
    ];
  });
  return <Table label="Teams" columns={COLUMNS} rows={rows} />;
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
