import type { Child } from 'hono/jsx';
import {
  type ApplicationId,
  type DriftIssue,
  type NamedTeam,
  type OperateContext,
  type ReconciliationIssue,
  teamsOfCustomers,
} from 'instep/operate';
import { REASONS } from '../actions/words.ts';
import { Badge } from '../components/badges.tsx';
import { differingFields, PlanStep } from '../components/plan-step.tsx';
import { Table } from '../components/table.tsx';
import { Time, UntrustedText } from '../components/text.tsx';
import { CustomerLink } from '../links/event-links.tsx';
import { TeamLink } from '../links/team-links.tsx';

/** Teams by id. */
export type TeamsById = ReadonlyMap<ApplicationId, NamedTeam>;

/** Reads the teams that have the issues' customers now. */
export async function readTeamsOfIssues(
  context: OperateContext,
  issues: readonly ReconciliationIssue[],
): Promise<TeamsById> {
  const customerIds = issues.map(({ customerId }) => customerId);
  const teams = await teamsOfCustomers(context, customerIds);
  return new Map(teams.map((team) => [team.id, team]));
}

/** Whether the team still has the plan that the reconciliation found. */
export function isStillWrong({ teamId, customerId, is }: DriftIssue, teams: TeamsById): boolean {
  const team = teams.get(teamId);
  return team?.customerId === customerId && differingFields(team.plan, is).length === 0;
}

/** Why a team is out of sync, as a sentence. */
export function CauseText({
  issue: { cause, subscriptionIds },
}: {
  readonly issue: Pick<DriftIssue, 'cause' | 'subscriptionIds'>;
}) {
  if (subscriptionIds.length === 0) return <>{REASONS[cause]}</>;
  const ids = <UntrustedText text={subscriptionIds.join(', ')} />;
  if (cause === 'never seen') return <>No event of {ids} has been received.</>;
  return <>An event of {ids} was missed.</>;
}

const COLUMNS = [
  'Team',
  'Customer',
  'Issue',
  { name: 'Repair', class: 'wide' },
  'Since',
  'State',
] as const;

type IssueTableProps = {
  readonly issues: readonly ReconciliationIssue[];
  readonly teams: TeamsById;
};

/** The issues of a reconciliation. */
export function IssueTable({ issues, teams }: IssueTableProps) {
  const rows = issues.map((issue) => issueCells(issue, teams));
  const ids = issues.map(({ customerId }) => customerId);
  return <Table label="Issues" columns={COLUMNS} rows={rows} ids={ids} />;
}

function issueCells(issue: ReconciliationIssue, teams: TeamsById): Child[] {
  const customer = <CustomerLink customerId={issue.customerId} />;
  if (issue.kind === 'customer without a team') {
    const statuses = <UntrustedText text={issue.statuses.join(', ')} />;
    return [
      '–',
      customer,
      <>No team is linked to this customer. Its subscriptions are {statuses}.</>,
    ];
  }
  const { teamId } = issue;
  const team = <TeamLink id={teamId} team={teams.get(teamId)} />;
  if (issue.kind === 'unknown customer') {
    return [team, customer, "Stripe does not know the team's customer."];
  }
  if (issue.kind === 'unrecorded') {
    const ids = <UntrustedText text={issue.subscriptionIds.join(', ')} />;
    return [team, customer, <>The plan is right, but an event of {ids} is missing.</>];
  }
  const { sinceSeconds, isRepaired } = issue;
  return [
    team,
    customer,
    <CauseText issue={issue} />,
    <Changes {...issue} />,
    sinceSeconds === null ? '–' : <Time ms={sinceSeconds * 1_000} />,
    isRepaired ? <Badge tone="good">repaired</Badge> : <StateOf drift={issue} teams={teams} />,
  ];
}

type StateOfProps = { readonly drift: DriftIssue; readonly teams: TeamsById };

function StateOf({ drift, teams }: StateOfProps) {
  if (drift.isDismissed) return <Badge tone="quiet">dismissed</Badge>;
  return isStillWrong(drift, teams) ? (
    <Badge tone="bad">out of sync</Badge>
  ) : (
    <Badge tone="quiet">changed since</Badge>
  );
}

/** What a repair changes in the team's row. */
export function Changes({ is, shouldBe }: Pick<DriftIssue, 'is' | 'shouldBe'>) {
  // The missed event may belong to a subscription that does not decide the plan.
  if (differingFields(is, shouldBe).length === 0) return <>No change to the team.</>;
  return <PlanStep before={is} after={shouldBe} />;
}
