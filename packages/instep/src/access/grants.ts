// Plans that operators gave to teams: giving, ending and listing them, and finding those that a row does not follow.

import type { ApplicationId } from '../core/application.ts';
import type { PlanSelection } from '../core/plan-selection.ts';
import { GRANTING_STATUSES } from '../core/status.ts';
import { hasPlan } from '../core/transition.ts';
import type { Query } from '../postgres/database.ts';
import { type Examined, examine } from '../postgres/examine.ts';
import { closeGrant, IS_OVER, readOpenGrant } from '../postgres/statements/grants.ts';
import { lockTeam } from '../postgres/statements/lock-teams.ts';
import type { ActingOperator } from '../postgres/statements/plan-changes.ts';
import type { DuePage, Team } from '../postgres/statements/teams.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { idFrom } from '../postgres/tables/id-from-text.ts';
import { CodedError } from '../runtime/errors.ts';
import { writeCurrentPlan } from './current-plan.ts';

/** A plan was not granted, or a grant not revoked. Nothing was changed. docs/errors.md has the remedy of each code. */
export class GrantRefused extends CodedError<
  'GRANT_INVALID' | 'NO_GRANT' | 'NOT_FOUND' | 'NOTHING_TO_KEEP' | 'TEAM_HAS_SUBSCRIPTION'
> {}

export type GrantRequest = {
  readonly planName: string;
  /** The id of a product at Stripe, for an app that decides by the product; none by default. */
  readonly productId?: string | null;
  /** When the grant ends; by default, when it is revoked. */
  readonly until?: Date | null;
  readonly reason: string;
};

/** A plan that a team was given. Times are in milliseconds since 1970. */
export type TeamGrant = {
  readonly planName: string;
  readonly productId: string | null;
  /** `null`: without an end. */
  readonly endsAtMs: number | null;
  readonly reason: string;
  readonly grantedAtMs: number;
  /** The operator's name. */
  readonly grantedBy: string;
  /** When an operator revoked or replaced it, and who. */
  readonly revokedAtMs: number | null;
  readonly revokedBy: string | null;
  readonly holds: boolean;
  /** Whether the team's row no longer follows it, which is a moment after its end. */
  readonly isClosed: boolean;
};

/** All grants of a team, the newest first. One at most holds. */
export async function readGrants(query: Query, teamId: ApplicationId): Promise<TeamGrant[]> {
  return await query<TeamGrant>({
    name: 'read_grants',
    text: ({ teams }: ApplicationTables) => `
      select plan_name as "planName",
             product_id as "productId",
             (extract(epoch from ends_at) * 1000)::bigint as "endsAtMs",
             reason,
             (extract(epoch from granted_at) * 1000)::bigint as "grantedAtMs",
             granted_by as "grantedBy",
             (extract(epoch from revoked_at) * 1000)::bigint as "revokedAtMs",
             revoked_by as "revokedBy",
             closed_at is null and not ${IS_OVER} as holds,
             closed_at is not null as "isClosed"
        from instep.grants as open_grant
       where team_id = (${idFrom(teams.idType, '$1::text')})::text
       order by id desc`,
    values: [teamId],
  });
}

/** Without a name, the plan that the row has and that no event gave it is kept. */
type GivenGrant = Omit<GrantRequest, 'planName'> & { readonly planName?: string };

type GrantOptions = {
  readonly planSelection: PlanSelection;
  readonly now: () => number;
  readonly operator: ActingOperator;
};

/**
 * Gives a team a plan in a transaction, in place of an earlier grant; `null` only ends that one. The team's row gets the plan
 * that it has with the new grant, or without any.
 *
 * @throws GrantRefused, or DatabaseRefused when the application refuses the plan
 */
export async function setGrant(
  query: Query,
  teamId: ApplicationId,
  given: GivenGrant | null,
  { now, operator, planSelection }: GrantOptions,
): Promise<{ teamId: ApplicationId; planName: string | null }> {
  const team = await lockTeam(query, teamId, 'no key update');
  if (team === null) throw new GrantRefused('NOT_FOUND', `there is no team ${teamId}`);
  const granted = given && checked(given, team, now());
  const earlierGrant = await readOpenGrant(query, team.id);
  if (granted === null && earlierGrant === null) {
    throw new GrantRefused('NO_GRANT', 'the team has no grant');
  }
  await closeGrant(query, team.id, operator.name);
  if (granted !== null) {
    const { planName, productId, until, reason } = granted;
    await query({
      name: 'add_grant',
      text: `
        insert into instep.grants (team_id, plan_name, product_id, ends_at, reason, granted_by)
        values ($1, $2, $3, $4, $5, $6)`,
      values: [String(team.id), planName, productId, until, reason, operator.name],
    });
  }
  const isKept = given !== null && given.planName === undefined;
  const writing = { planSelection, operator, isForced: isKept, earlierGrant };
  const { isGranted } = await writeCurrentPlan(query, team, writing);
  if (isKept && !isGranted) {
    const message = "a subscription of the team's customer grants a plan: repair the team";
    throw new GrantRefused('TEAM_HAS_SUBSCRIPTION', message);
  }
  return { teamId: team.id, planName: granted?.planName ?? null };
}

const MAX_LENGTH = 1_000;

/** @throws GrantRefused */
function checked(given: GivenGrant, { plan }: Team, nowMs: number): Required<GrantRequest> {
  const isKept = given.planName === undefined;
  const { planName = plan.planName, reason, until = null } = given;
  const { productId = null } = isKept ? { productId: plan.providerProductId } : given;
  if (planName === null || (isKept && !hasPlan(plan))) {
    throw new GrantRefused('NOTHING_TO_KEEP', 'the team has no plan with a name');
  }
  const isText = (text: string) =>
    text.trim() !== '' && text.length <= MAX_LENGTH && text.isWellFormed() && !text.includes('\0');
  const problem =
    (!isText(planName) && 'the plan needs a name') ||
    (productId !== null && !isText(productId) && 'the product needs an id') ||
    (!isText(reason) && 'a grant needs a reason') ||
    (until !== null && !(until.getTime() > nowMs) && 'the end must be in the future');
  if (problem !== false) throw new GrantRefused('GRANT_INVALID', problem);
  return { planName, productId, until, reason };
}

const EXAMINED = 5_000;

/**
 * The end has come; or the row lacks a plan, as when the application has cleared it; or it can be that of a subscription,
 * as when the application has linked the team. Grants are few beside the teams, so the teams are read one by one.
 */
const FIND_DUE = ({ teams }: ApplicationTables) => `found as (
        select team_id as "teamId"
          from examined as open_grant
          left join lateral (
                 select *
                   from ${teams.rows} as teams
                  where id = ${idFrom(teams.idType, 'open_grant.team_id')}
                 offset 0
               ) as teams on true
         where team_id <> all ($2::text[])
           and (ends_at <= now()
                or teams.id is not null
                   and teams.provider_subscription_id is null
                   and (teams.plan_name is null
                        or exists (
                             select
                               from instep.subscriptions
                              where customer_id = teams.provider_customer_id
                                and status in (${GRANTING_STATUSES.map((status) => `'${status}'`).join(', ')})
                           )))
         order by ends_at
         limit $3
      )`;

/** The teams of the next grants that their row possibly does not follow, by id as text, except some. */
export async function readTeamsOfDueGrants(
  query: Query,
  { afterId, limit, exceptIds }: DuePage,
): Promise<Examined<string>> {
  const { found, examinedTo } = await examine<{ teamId: string }, string>(query, {
    name: 'read_teams_of_due_grants',
    examined: () => `
        select *
          from instep.grants
         where closed_at is null
           and team_id > coalesce($1, '')
         order by team_id
         limit ${EXAMINED}`,
    key: 'team_id',
    limit: EXAMINED,
    found: FIND_DUE,
    values: [afterId, exceptIds, limit],
  });
  return { found: found.map(({ teamId }) => teamId), examinedTo };
}
