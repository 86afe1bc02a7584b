import type { ApplicationId } from '../core/application.ts';
import {
  type Grant,
  isGrantedPlan,
  NO_SUBSCRIPTIONS,
  type PlanSelection,
  teamPlan,
} from '../core/plan-selection.ts';
import { GRANTING_STATUSES } from '../core/status.ts';
import { hasPlan, isSamePlan, NO_PLAN } from '../core/transition.ts';
import type { Database, Query } from '../postgres/database.ts';
import { lockTeam } from '../postgres/statements/lock-teams.ts';
import { noteNamelessProducts } from '../postgres/statements/products.ts';
import { IS_OVER, readCustomers } from '../postgres/statements/subscriptions.ts';
import { readTeam, type Team, writePlans } from '../postgres/statements/teams.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { idFrom } from '../postgres/tables/id-from-text.ts';
import { InstepError } from '../runtime/errors.ts';

/** Why a plan was not granted or a grant not revoked. docs/errors.md has the cause and remedy of each. */
export type GrantRefusedCode =
  | 'GRANT_INVALID'
  | 'NO_GRANT'
  | 'NOT_FOUND'
  | 'NOTHING_TO_KEEP'
  | 'TEAM_HAS_SUBSCRIPTION';

/** A plan was not granted, or a grant not revoked. Nothing was changed. */
export class GrantRefused extends InstepError {
  readonly code: GrantRefusedCode;

  constructor(code: GrantRefusedCode, message: string) {
    super(message);
    this.code = code;
  }
}

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

type GrantOptions = {
  readonly database: Database;
  readonly planSelection: PlanSelection;
  readonly now: () => number;
  /** The operator's name. */
  readonly operator: string;
};

/**
 * Gives a team a plan, in place of an earlier grant. The team's row gets it while no subscription grants a plan.
 *
 * @throws GrantRefused, or DatabaseRefused when the application refuses the plan; then nothing was changed
 */
export async function grantPlan(
  { database, ...options }: GrantOptions,
  teamId: ApplicationId,
  request: GrantRequest,
): Promise<void> {
  check(request, options.now());
  await database.transaction(async (query) => {
    await replaceGrant(query, await requireTeam(query, teamId), request, options);
  });
}

/**
 * Keeps the plan that a team has and that no event gave it, as a grant.
 *
 * @throws GrantRefused when it has none, or a subscription grants a plan
 */
export async function keepAsGrant(
  { database, ...options }: GrantOptions,
  teamId: ApplicationId,
  given: Pick<GrantRequest, 'reason' | 'until'>,
): Promise<GrantRequest> {
  return await database.transaction(async (query) => {
    const team = await requireTeam(query, teamId);
    const { planName, providerProductId: productId } = team.plan;
    if (planName === null || !hasPlan(team.plan)) {
      throw new GrantRefused('NOTHING_TO_KEEP', 'the team has no plan with a name');
    }
    const request = { planName, productId, ...given };
    check(request, options.now());
    await replaceGrant(query, team, request, { ...options, isKept: true });
    return request;
  });
}

/**
 * Ends a team's grant. The team's row gets the plan that it would have without it.
 *
 * @throws GrantRefused when the team has none
 */
export async function revokeGrant(
  { database, planSelection, operator }: GrantOptions,
  teamId: ApplicationId,
): Promise<void> {
  await database.transaction(async (query) => {
    const team = await requireTeam(query, teamId);
    const grant = await closeGrant(query, team, operator);
    if (grant === null) throw new GrantRefused('NO_GRANT', 'the team has no grant');
    await follow(query, team, { before: grant, after: null, planSelection, operator });
  });
}

const MAX_LENGTH = 1_000;

/** @throws GrantRefused */
function check(
  { planName, productId = null, until = null, reason }: GrantRequest,
  nowMs: number,
): void {
  const isText = (text: string) =>
    text.trim() !== '' && text.length <= MAX_LENGTH && text.isWellFormed() && !text.includes('\0');
  const problem =
    (!isText(planName) && 'the plan needs a name') ||
    (productId !== null && !isText(productId) && 'the product needs an id') ||
    (!isText(reason) && 'a grant needs a reason') ||
    (until !== null && !(until.getTime() > nowMs) && 'the end must be in the future');
  if (problem !== false) throw new GrantRefused('GRANT_INVALID', problem);
}

async function requireTeam(query: Query, teamId: ApplicationId): Promise<Team> {
  const team = await lockTeam(query, teamId);
  if (team === null) throw new GrantRefused('NOT_FOUND', `there is no team ${teamId}`);
  return team;
}

async function replaceGrant(
  query: Query,
  team: Team,
  { planName, productId = null, until = null, reason }: GrantRequest,
  rules: Rules & Pick<GrantOptions, 'operator'>,
): Promise<void> {
  const { operator } = rules;
  const before = await closeGrant(query, team, operator);
  await query({
    name: 'add_grant',
    text: `
      insert into instep.grants (team_id, plan_name, product_id, ends_at, reason, granted_by)
      values ($1, $2, $3, $4, $5, $6)`,
    values: [String(team.id), planName, productId, until, reason, operator],
  });
  const after = { planName, productId, isOver: false };
  await follow(query, team, { before, after, ...rules });
}

/** Revokes the open grant of a locked team. */
async function closeGrant(query: Query, { id }: Team, operator: string): Promise<Grant | null> {
  const [grant = null] = await query<Grant>({
    name: 'revoke_grant',
    text: `
      update instep.grants as open_grant
         set revoked_at = case when not ${IS_OVER} then now() end,
             revoked_by = case when not ${IS_OVER} then $2 end,
             closed_at  = now()
       where team_id = $1
         and closed_at is null
      returning plan_name as "planName", product_id as "productId", ${IS_OVER} as "isOver"`,
    values: [String(id), operator],
  });
  return grant;
}

type Rules = Pick<GrantOptions, 'planSelection'> & {
  /** Whose change it is; nobody's by default, as when the end of a grant has come. */
  readonly operator?: string;
  /** Whether the row's own plan becomes that of the grant. */
  readonly isKept?: boolean;
};

/** The grant that the row can have the plan of, and the one that it should follow. */
type Followed = { readonly before: Grant | null; readonly after: Grant | null };

/**
 * Writes the plan that a locked team has with another grant, and returns whether that changed the row. A plan that
 * the application wrote is replaced by a granted one, except that of a subscription without any event, which only the
 * application knows.
 *
 * @throws GrantRefused when a plan can't be kept, because a subscription grants one
 */
async function follow(
  query: Query,
  team: Team,
  { before, after, planSelection, operator, isKept = false }: Followed & Rules,
): Promise<boolean> {
  const { id, customerId, plan } = team;
  const customerIds = customerId === null ? [] : [customerId];
  const { customers, names } = await readCustomers(query, customerIds);
  const customer = customers.get(customerId ?? '') ?? NO_SUBSCRIPTIONS;
  const shouldBe = teamPlan(customer, planSelection, names, after) ?? NO_PLAN;
  const { providerSubscriptionId: rowId } = plan;
  const isOfUnknownSubscription = rowId !== null && !customer.has(rowId);
  const isOfInstep = isSamePlan(plan, NO_PLAN) || isGrantedPlan(plan, before);
  const isGranted = isGrantedPlan(shouldBe, after);
  if (isKept && !isGranted) {
    const message = "a subscription of the team's customer grants a plan: repair the team";
    throw new GrantRefused('TEAM_HAS_SUBSCRIPTION', message);
  }
  const isWritten = isOfInstep || isKept || (isGranted && !isOfUnknownSubscription);
  if (!isWritten) return false;
  const isChanged = !isSamePlan(plan, shouldBe);
  // The row can lose the granted plan, too: to a subscription of the customer that the application linked.
  const cause = after === null ? 'grant_ended' : isGranted ? 'grant' : 'link';
  const reason = { cause, operator: operator ?? null } as const;
  if (isChanged) await writePlans(query, [{ team, shouldBe, reason }]);
  const { providerProductId, planName } = shouldBe;
  if (providerProductId !== null && planName === null) {
    await noteNamelessProducts(query, [providerProductId]);
  }
  // What a comparison found about the plan was about the row without the grant.
  await query({
    name: 'forget_issues_about_plan',
    text: `delete from instep.findings where team_id = $1 and plan is not null`,
    values: [String(id)],
  });
  return isChanged;
}

/**
 * What is open about grants: the end has come; the row lost the granted plan, as when the team was linked to another
 * customer; or the row has it although a subscription grants a plan, as when the application linked the team. Grants
 * are few beside the teams, so the teams are read one by one.
 */
const READ_DUE = ({ teams }: ApplicationTables) => `
      select team_id as "teamId"
        from instep.grants as open_grant
        left join lateral (
               select *
                 from ${teams.rows} as teams
                where id = ${idFrom(teams.idType, 'open_grant.team_id')}
               offset 0
             ) as teams on true
       where closed_at is null
         and team_id <> all ($2::text[])
         and (ends_at <= now()
              or teams.provider_subscription_id is null
                 and teams.provider_product_id is null
                 and teams.plan_name is null
                 and teams.id is not null
              or teams.provider_subscription_id is null
                 and teams.provider_product_id is not distinct from open_grant.product_id
                 and (
                       select true
                         from instep.subscriptions as state
                        where state.customer_id = teams.provider_customer_id
                          and state.status in (${GRANTING_STATUSES.map((status) => `'${status}'`).join(', ')})
                        limit 1
                     ))
       order by ends_at
       limit $1`;

/** The teams whose row possibly does not follow their grant, by id as text, except some. */
export async function readTeamsOfDueGrants(
  query: Query,
  { limit, exceptIds }: { readonly limit: number; readonly exceptIds: readonly string[] },
): Promise<string[]> {
  const rows = await query<{ teamId: string }>({
    name: 'read_teams_of_due_grants',
    text: READ_DUE,
    values: [limit, exceptIds],
  });
  return rows.map(({ teamId }) => teamId);
}

/**
 * Makes a team's row follow its grant, which it closes if its end has come. Returns whether anything changed; not
 * while another transaction has locked the team.
 */
export async function settleGrant(
  database: Database,
  teamId: string,
  planSelection: PlanSelection,
): Promise<boolean> {
  return await database.transaction(async (query) => {
    const team = await lockTeam(query, teamId, 'skip locked');
    if (team === null && (await readTeam(query, teamId)) !== null) return false;
    const [open] = await query<Grant>({
      name: 'close_grant_that_is_over',
      text: `
        with closed as (
          update instep.grants as open_grant
             set closed_at = now()
           where team_id = $1
             and closed_at is null
             and ${IS_OVER}
        )
        select plan_name as "planName", product_id as "productId", ${IS_OVER} as "isOver"
          from instep.grants as open_grant
         where team_id = $1
           and closed_at is null`,
      values: [teamId],
    });
    if (open === undefined) return false;
    if (team === null) return open.isOver;
    if (hasPlan(team.plan) && !isGrantedPlan(team.plan, open)) return open.isOver;
    const after = open.isOver ? null : open;
    const isChanged = await follow(query, team, { before: open, after, planSelection });
    return open.isOver || isChanged;
  });
}
