// Reads teams and writes their plans, in the app's table. Whatever changes a plan calls `writePlans`. In the SQL,
// `teams.rows` is the app's table with the contract's names for its columns (tables/application-tables.ts), and `rowsAs`
// makes rows of the parameters, one or many (statement.ts).

import type { Plan } from '../../rule/plan-fields.ts';
import type { ApplicationId } from '../application.ts';
import { type Query, unlessRefused } from '../database.ts';
import { type Examined, examineTeams } from '../examine.ts';
import { onlyRow, parametersOf, rowsAs, textsByRowCount } from '../named-statement.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';
import { idFrom } from '../tables/id-from-text.ts';
import { nameOfPlan } from '../teams-table.ts';
import { type ChangedBy, IS_CHANGE, recordChanges } from './plan-changes.ts';

/** A team as Instep sees it: its customer and its plan. */
export type Team = {
  readonly id: ApplicationId;
  readonly customerId: string | null;
  readonly plan: Plan;
};

export type LinkedTeam = Team & { readonly customerId: string };

/** A team's columns of `rows`, under the contract's names. */
export const TEAM_COLUMNS = `
  id,
  provider_customer_id as "customerId",
  provider_subscription_id as "providerSubscriptionId",
  provider_product_id as "providerProductId",
  plan_name as "planName",
  subscription_status as "subscriptionStatus"`;

export type TeamRow<CustomerId = string | null> = Plan & {
  readonly id: ApplicationId;
  readonly customerId: CustomerId;
};

/** A plan to write to a team, which is as it was read under its lock. */
export type PlanWrite<OfTeam extends Team = Team> = {
  readonly team: OfTeam;
  readonly shouldBe: Plan;
  readonly changedBy: ChangedBy;
};

/** The parameters of `writePlans`: the plan that a team gets, the one that it has (`…_before`), and why it changes. */
const WRITE_COLUMNS = {
  team_id: 'text',
  customer_id: 'text',
  subscription_status: 'text',
  subscription_status_before: 'text',
  plan_name: 'text',
  plan_name_before: 'text',
  provider_product_id: 'text',
  provider_product_id_before: 'text',
  provider_subscription_id: 'text',
  provider_subscription_id_before: 'text',
  cause: 'text',
  event_id: 'text',
  event_created_seconds: 'bigint',
  operator: 'text',
  action_id: 'bigint',
};

type WriteRow = Record<keyof typeof WRITE_COLUMNS, unknown>;

function rowOf({ team, shouldBe, changedBy }: PlanWrite, isNamed: boolean): WriteRow {
  return {
    team_id: team.id,
    customer_id: team.customerId,
    subscription_status: shouldBe.subscriptionStatus,
    subscription_status_before: team.plan.subscriptionStatus,
    plan_name: isNamed ? shouldBe.planName : null,
    plan_name_before: team.plan.planName,
    provider_product_id: shouldBe.providerProductId,
    provider_product_id_before: team.plan.providerProductId,
    provider_subscription_id: shouldBe.providerSubscriptionId,
    provider_subscription_id_before: team.plan.providerSubscriptionId,
    cause: changedBy.cause,
    event_id: changedBy.eventId,
    event_created_seconds: changedBy.eventCreatedSeconds,
    operator: changedBy.operator?.name,
    action_id: changedBy.operator?.actionId,
  };
}

// A trigger that returns null, a policy or a view can skip the update of a row without an error, and a trigger can change
// its values. The commit is sent together with this statement, so only the statement itself can prevent it. The
// application can shorten a name, so names are not compared. What a trigger does after the update is not seen.
const IS_WRITTEN = `
                        written.id is not null
                        and written.subscription_status_after is not distinct from plan.subscription_status
                        and written.provider_product_id_after is not distinct from plan.provider_product_id
                        and written.provider_subscription_id_after is not distinct from plan.provider_subscription_id`;

const writtenName = ({ keepsPlanName, column }: ApplicationTables['teams']) =>
  keepsPlanName ? `coalesce(plan.plan_name, team.${column('planName')})` : 'plan.plan_name';

const nameIn = ({ keepsPlanName, column }: ApplicationTables['teams']) =>
  keepsPlanName ? nameOfPlan((field) => `team.${column(field)}`) : `team.${column('planName')}`;

/** Updates the teams, records their changes, and fails if one does not have its plan. */
const WRITE_PLANS = textsByRowCount((count) => ({ teams }: ApplicationTables) => {
  const { name, column, idType, setUpdatedAt } = teams;
  return `
      with plan as ${count === 'one' ? 'not materialized' : 'materialized'} (
        select *
          from ${rowsAs('plan', { ...WRITE_COLUMNS, team_id: idType }, count)}
      ),
      written as (
        update ${name} as team
           set ${column('subscriptionStatus')} = plan.subscription_status,
               ${column('planName')} = ${writtenName(teams)},
               ${column('providerProductId')} = plan.provider_product_id,
               ${column('providerSubscriptionId')} = plan.provider_subscription_id
               ${setUpdatedAt}
          from plan
         where team.${column('id')} = plan.team_id
        returning team.${column('id')} as id,
                  team.${column('subscriptionStatus')}::text as subscription_status_after,
                  ${nameIn(teams)}::text as plan_name_after,
                  team.${column('providerProductId')}::text as provider_product_id_after,
                  team.${column('providerSubscriptionId')}::text as provider_subscription_id_after
      )
      ${recordChanges(
        `(
                 select plan.team_id::text as team_id, plan.customer_id, plan.cause, plan.event_id,
                        to_timestamp(plan.event_created_seconds) as event_created_at, plan.operator, plan.action_id,
                        plan.subscription_status_before, written.subscription_status_after,
                        plan.plan_name_before, written.plan_name_after,
                        plan.provider_product_id_before, written.provider_product_id_after,
                        plan.provider_subscription_id_before, written.provider_subscription_id_after,
                        ${IS_WRITTEN} as is_written
                   from plan
                   left join written on written.id = plan.team_id
               ) as change`,
        `case when is_written then ${IS_CHANGE} else instep.refuse_unwritten_plan() end`,
      )}`;
});

/**
 * Writes the plans of teams that are locked, with or without names, and records what changes. Other columns are the app's.
 *
 * @throws DatabaseRefused when the application skips the update of a row, changes its plan, or refuses it
 */
export async function writePlans(
  query: Query,
  writes: readonly PlanWrite[],
  areNamed = true,
): Promise<void> {
  const rows = writes.map((write) => rowOf(write, areNamed));
  const { count, values } = parametersOf(rows, WRITE_COLUMNS);
  await query({ name: 'write_plans', text: WRITE_PLANS[count], values });
}

/** The same; without names if the application refuses the plans, because its column can be too short for one. */
export async function writePlansThatFit(query: Query, writes: readonly PlanWrite[]): Promise<void> {
  if (await unlessRefused(query, () => writePlans(query, writes))) return;
  await writePlans(query, writes, false);
}

/**
 * The customers of the next teams whose plan columns are all empty although a plan of the customer is known, except some.
 * `examined` are the next rows of all teams, which `examineTeams` limits.
 */
export async function readEmptyTeams(
  query: Query,
  { afterId, limit, exceptIds }: DuePage,
): Promise<Examined<string>> {
  const { found, examinedTo } = await examineTeams<{ customerId: string }>(query, {
    name: 'read_empty_teams',
    found: () => `found as (
        select provider_customer_id as "customerId"
          from examined
         where subscription_status is null
           and plan_name is null
           and provider_product_id is null
           and provider_subscription_id is null
           and exists (
                 select
                   from instep.customers
                  where customer_id = provider_customer_id
                    and customers.subscription_status is not null
               )
           and provider_customer_id <> all ($2::text[])
         limit $3
      )`,
    values: [exceptIds, limit],
    afterId,
  });
  return { found: found.map(({ customerId }) => customerId), examinedTo };
}

/** Which teams or customers a job reads next, of those that it has to repair. */
export type DuePage = {
  /** `null`: the first page. */
  readonly afterId: ApplicationId | null;
  readonly limit: number;
  /** Those whose repair failed lately. */
  readonly exceptIds: readonly string[];
};

/** Those of the next teams that have a customer. */
export async function readLinkedTeams(
  query: Query,
  page: { readonly afterId: ApplicationId | null; readonly limit?: number },
): Promise<Examined<LinkedTeam>> {
  const { found, examinedTo } = await examineTeams<TeamRow<string>>(query, {
    name: 'read_linked_teams',
    found: () => `found as (
        select ${TEAM_COLUMNS}
          from examined
         where provider_customer_id is not null
      )`,
    ...page,
  });
  return { found: found.map(toTeam), examinedTo };
}

const READ_TEAMS_OF = ({ teams }: ApplicationTables) => `
      select ${TEAM_COLUMNS}
        from ${teams.rows} as teams
       where provider_customer_id = any ($1::text[])
       order by id`;

/** The teams of these customers, in the order of their ids. */
export async function readTeamsOf(
  query: Query,
  customerIds: readonly string[],
): Promise<LinkedTeam[]> {
  const rows = await query<TeamRow<string>>({
    name: 'read_teams_of',
    text: READ_TEAMS_OF,
    values: [customerIds],
  });
  return rows.map(toTeam);
}

const READ_TEAM = ({ teams }: ApplicationTables) => `
      select ${TEAM_COLUMNS}
        from ${teams.rows} as teams
       where id = ${idFrom(teams.idType, '$1::text')}`;

export async function readTeam(query: Query, id: ApplicationId): Promise<Team | null> {
  const [row] = await query<TeamRow>({ name: 'read_team', text: READ_TEAM, values: [id] });
  return row === undefined ? null : toTeam(row);
}

const IS_ID_OF_ANOTHER = ({ teams: { idType } }: ApplicationTables) => `
      select coalesce(
               (${idFrom(idType, '$2::text')}) <> (${idFrom(idType, '$1::text')}), false
             ) as "isOther"`;

/** Whether a text is the id of another team, as the type of `id` compares them; not if it is no id. */
export async function isIdOfAnother(
  query: Query,
  id: ApplicationId,
  text: string,
): Promise<boolean> {
  const row = await onlyRow<{ isOther: boolean }>(query, {
    name: 'is_id_of_another',
    text: IS_ID_OF_ANOTHER,
    values: [id, text],
  });
  return row.isOther;
}

/** Leaves out the name if the table has no column for it. */
const ADD_TEAM = ({ teams: { name, column, hasNames } }: ApplicationTables) => `
      insert into ${name} (${hasNames ? `${column('name')}, ` : ''}${column('providerCustomerId')})
      select ${hasNames ? '$1, ' : ''}$2
       where $1::text is not null
      returning ${column('id')} as id`;

/**
 * Adds a team, and returns its id.
 *
 * @throws DatabaseRefused when another team is linked to the customer, or the table has other required columns
 */
export async function addTeam(
  query: Query,
  { name, customerId }: { name: string; customerId: string | null },
): Promise<ApplicationId> {
  const values = [name, customerId];
  const [row] = await query<{ id: ApplicationId }>({ name: 'add_team', text: ADD_TEAM, values });
  if (row === undefined) throw new RangeError('the inserted team was not returned');
  return row.id;
}

/** The team of a row with the columns of `TEAM_COLUMNS`. */
export function toTeam<CustomerId>({ id, customerId, ...plan }: TeamRow<CustomerId>) {
  return { id, customerId, plan };
}
