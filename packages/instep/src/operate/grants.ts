import {
  GrantRefused,
  type GrantRequest,
  readGrants as read,
  type TeamGrant,
} from '../access/grants.ts';
import { readAccess, type TeamAccess } from '../access/team-access.ts';
import type { ApplicationId } from '../core/application.ts';
import { actOrThrow } from './act.ts';
import type { OperateContext, Operator } from './context.ts';

/**
 * Gives a team a plan without a subscription (docs/grants.md), in place of an earlier grant. The team's row gets it
 * while no subscription of its customer grants a plan. Resolves with the team's access.
 *
 * @throws InstepError: `GRANT_INVALID`, `NOT_FOUND`, or `DATABASE_REFUSED` if the application refuses the plan
 * @example
 * ```ts
 * const call = grantPlan(context, operator, 1, { planName: 'Partner', reason: 'launch partner' });
 * console.log(await call.catch(({ code }) => code)); // NOT_FOUND
 * ```
 */
export async function grantPlan(
  context: OperateContext,
  operator: Operator,
  teamId: ApplicationId,
  request: GrantRequest,
): Promise<TeamAccess> {
  const { planName, productId = null, until = null, reason: note } = request;
  const subject = { kind: 'team', id: String(teamId) } as const;
  const grant = { planName, productId };
  await actOrThrow(context, operator, { action: 'grant', subject, grant }, { note, until });
  return await accessOf(context, teamId);
}

/**
 * Ends a team's grant now. The team's row gets the plan that it would have without it. Resolves with the team's access.
 *
 * @throws InstepError: `NO_GRANT`, `NOT_FOUND`, or `DATABASE_REFUSED` if the application refuses the plan
 * @example
 * ```ts
 * console.log(await revokeGrant(context, operator, 1).catch(({ code }) => code)); // NOT_FOUND
 * ```
 */
export async function revokeGrant(
  context: OperateContext,
  operator: Operator,
  teamId: ApplicationId,
): Promise<TeamAccess> {
  const subject = { kind: 'team', id: String(teamId) } as const;
  await actOrThrow(context, operator, { action: 'revoke-grant', subject });
  return await accessOf(context, teamId);
}

/** The access of a team that is there. */
async function accessOf({ database }: OperateContext, teamId: ApplicationId): Promise<TeamAccess> {
  const access = await readAccess(database.query, teamId);
  if (access === null) throw new GrantRefused('NOT_FOUND', 'the team has just been deleted');
  return access;
}

/**
 * All grants of a team, the newest first. One at most holds.
 *
 * @example
 * ```ts
 * console.log(await readGrants(context, 1)); // []
 * ```
 */
export async function readGrants(
  { database }: OperateContext,
  teamId: ApplicationId,
): Promise<TeamGrant[]> {
  return await read(database.query, teamId);
}
