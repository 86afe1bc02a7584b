// Open grants, as decisions on plans need them; access/grants.ts has the rest.

import type { ApplicationId } from '../../core/application.ts';
import { type Grant, type Grants, grantOf } from '../../core/plan-selection.ts';
import type { Query } from '../database.ts';

/** SQL: whether the end of an open grant has come. */
export const IS_OVER = `coalesce(open_grant.ends_at <= now(), false)`;

/** The grant of a team that was not closed; the lock on the team guards it. */
export async function readOpenGrant(query: Query, teamId: ApplicationId): Promise<Grant | null> {
  return grantOf(await readOpenGrants(query, [{ id: teamId }]), teamId);
}

/** The grants of these teams that were not closed. */
export async function readOpenGrants(
  query: Query,
  teams: readonly { readonly id: ApplicationId }[],
): Promise<Grants> {
  if (teams.length === 0) return new Map();
  const rows = await query<Grant & { teamId: string }>({
    name: 'read_open_grants',
    text: `
      select team_id as "teamId",
             plan_name as "planName",
             product_id as "productId",
             ${IS_OVER} as "isOver"
        from instep.grants as open_grant
       where team_id = any ($1::text[])
         and closed_at is null`,
    values: [teams.map(({ id }) => String(id))],
  });
  return new Map(rows.map(({ teamId, ...grant }) => [teamId, grant]));
}

/** Closes the open grant of a locked team, which an operator revokes unless its end has come. */
export async function closeGrant(
  query: Query,
  teamId: ApplicationId,
  operator: string | null,
): Promise<void> {
  await query({
    name: 'close_grant',
    text: `
      update instep.grants as open_grant
         set revoked_at = case when not ${IS_OVER} then now() end,
             revoked_by = case when not ${IS_OVER} then $2 end,
             closed_at  = now()
       where team_id = $1
         and closed_at is null`,
    values: [String(teamId), operator],
  });
}
