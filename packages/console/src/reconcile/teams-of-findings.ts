import {
  type ApplicationId,
  type DriftFinding,
  type Finding,
  type NamedTeam,
  type OperateContext,
  teamsOfCustomers,
} from 'instep/operate';
import { differingFields } from '../components/plans.ts';

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
