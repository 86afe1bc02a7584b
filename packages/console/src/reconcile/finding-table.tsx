import type { Child } from 'hono/jsx';
import {
  type ApplicationId,
  type DriftFinding,
  type Finding,
  type NamedTeam,
  type OperateContext,
  teamsOfCustomers,
} from 'instep/operate';
import { REASONS } from '../actions/words.ts';
import { Badge } from '../components/badges.tsx';
import { differingFields } from '../components/plan-table.tsx';
import { Table } from '../components/table.tsx';
import { Time, UntrustedText } from '../components/text.tsx';
import { CustomerLink } from '../links/event-links.tsx';
import { TeamLink } from '../links/team-links.tsx';

/** Teams by id. */
export type TeamsById = ReadonlyMap<ApplicationId, NamedTeam>;

/** Reads the teams that have the findings' customers now. */
export async function readTeamsOfFindings(
  context: OperateContext,
  findings: readonly Finding[],
): Promise<TeamsById> {
  const customerIds = findings.map(({ customerId }) => customerId);
  const teams = await teamsOfCustomers(context, customerIds);
  return new Map(teams.map((team) => [team.id, team]));
}

/** Whether the team still has the plan that the reconciliation found. */
export function isStillWrong({ teamId, customerId, is }: DriftFinding, teams: TeamsById): boolean {
  const team = teams.get(teamId);
  return team?.customerId === customerId && differingFields(team.plan, is).length === 0;
}

/** Why a team is out of sync, as a sentence. */
export function CauseText({
  finding: { cause, subscriptionIds },
}: {
  readonly finding: Pick<DriftFinding, 'cause' | 'subscriptionIds'>;
}) {
  if (subscriptionIds.length === 0) return <>{REASONS[cause]}</>;
  const ids = <UntrustedText text={subscriptionIds.join(', ')} />;
  if (cause === 'never seen') return <>No event of {ids} has been received.</>;
  return <>An event of {ids} was missed.</>;
}

const COLUMNS = [
  'Team',
  'Customer',
  'Finding',
  { name: 'Repair', class: 'wide' },
  'Since',
  'State',
] as const;

type FindingTableProps = {
  readonly findings: readonly Finding[];
  readonly teams: TeamsById;
};

/** The findings of a reconciliation. */
export function FindingTable({ findings, teams }: FindingTableProps) {
  const rows = findings.map((finding) => findingCells(finding, teams));
  const ids = findings.map(({ customerId }) => customerId);
  return <Table label="Findings" columns={COLUMNS} rows={rows} ids={ids} />;
}

function findingCells(finding: Finding, teams: TeamsById): Child[] {
  const customer = <CustomerLink customerId={finding.customerId} />;
  if (finding.kind === 'customer without a team') {
    const statuses = <UntrustedText text={finding.statuses.join(', ')} />;
    return [
      '–',
      customer,
      <>No team is linked to this customer. Its subscriptions are {statuses}.</>,
    ];
  }
  const { teamId } = finding;
  const team = <TeamLink id={teamId} team={teams.get(teamId)} />;
  if (finding.kind === 'unknown customer') {
    return [team, customer, "Stripe does not know the team's customer."];
  }
  if (finding.kind === 'unrecorded') {
    const ids = <UntrustedText text={finding.subscriptionIds.join(', ')} />;
    return [team, customer, <>The plan is right, but an event of {ids} is missing.</>];
  }
  const { sinceSeconds, isRepaired } = finding;
  return [
    team,
    customer,
    <CauseText finding={finding} />,
    <Changes {...finding} />,
    sinceSeconds === null ? '–' : <Time ms={sinceSeconds * 1_000} />,
    isRepaired ? <Badge tone="good">repaired</Badge> : <StateOf drift={finding} teams={teams} />,
  ];
}

type StateOfProps = { readonly drift: DriftFinding; readonly teams: TeamsById };

function StateOf({ drift, teams }: StateOfProps) {
  if (drift.isDismissed) return <Badge tone="quiet">dismissed</Badge>;
  return isStillWrong(drift, teams) ? (
    <Badge tone="bad">out of sync</Badge>
  ) : (
    <Badge tone="quiet">changed since</Badge>
  );
}

/** What a repair changes in the team's row. */
export function Changes({ is, shouldBe }: Pick<DriftFinding, 'is' | 'shouldBe'>) {
  const changed = differingFields(is, shouldBe);
  // The missed event may belong to a subscription that the team does not follow.
  if (changed.length === 0) return <>No change to the team.</>;
  return (
    <ul class="changes">
      {changed.map(([name, field]) => (
        <li>
          {name} from <UntrustedText text={is[field] ?? 'none'} maxLength={40} /> to{' '}
          <UntrustedText text={shouldBe[field] ?? 'none'} maxLength={40} />
        </li>
      ))}
    </ul>
  );
}
