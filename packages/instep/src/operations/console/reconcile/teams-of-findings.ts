import type { ApplicationId } from '../../../core/application-id.ts';
import type { Finding } from '../../../maintenance/reconcile/finding.ts';
import { type NamedTeam, readNamedTeamsOf } from '../../../operate/named-teams.ts';
import type { Query } from '../../../postgres/database.ts';

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
