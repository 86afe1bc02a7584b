import type { ApplicationId, DriftFinding, Finding, NamedTeam } from 'instep/operate';
import { isSamePlan, type Query, readNamedTeamsOf } from 'instep/operate/inside';

/** Teams by id. */
export type TeamsById = ReadonlyMap<ApplicationId, NamedTeam>;

const MAX_TEAMS_OF_FINDINGS = 20_000;

/** Reads the teams that have the findings' customers now. */
export async function readTeamsOfFindings(
  query: Query,
  findings: readonly Finding[],
): Promise<TeamsById> {
  const customerIds = findings.map(({ customerId }) => customerId);
  const teams = await readNamedTeamsOf(query, customerIds, MAX_TEAMS_OF_FINDINGS);
  return new Map(teams.map((team) => [team.id, team]));
}

/** Whether the team still has the plan that the reconciliation found. */
export function isStillWrong({ teamId, customerId, is }: DriftFinding, teams: TeamsById): boolean {
  const team = teams.get(teamId);
  return team?.customerId === customerId && isSamePlan(team.plan, is);
}
