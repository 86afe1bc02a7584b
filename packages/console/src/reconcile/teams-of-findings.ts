import type { ApplicationId, Finding, NamedTeam } from 'instep/operate';
import { type Query, readNamedTeamsOf } from 'instep/operate/inside';

/** Teams by id. */
export type TeamsById = ReadonlyMap<ApplicationId, NamedTeam>;

/** Reads the teams that have the findings' customers now. */
export async function readTeamsOfFindings(
  query: Query,
  findings: readonly Finding[],
): Promise<TeamsById> {
  const customerIds = findings.map(({ customerId }) => customerId);
  const teams = await readNamedTeamsOf(query, customerIds);
  return new Map(teams.map((team) => [team.id, team]));
}
