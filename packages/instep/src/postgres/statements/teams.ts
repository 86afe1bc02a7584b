import type { ApplicationId } from '../../core/application.ts';
import { PLAN_FIELDS, type TeamPlan } from '../../core/transition.ts';
import type { Query } from '../database.ts';
import { type Examined, examineTeams } from '../examine.ts';
import { type Count, countOf, forEachCount, rowsAs, valuesOf } from '../statement.ts';
import { type ApplicationTables, contractColumn, regclass } from '../tables/application-tables.ts';
import { idFrom } from '../tables/id-from-text.ts';
import { RULE_ON_UPDATE } from '../tables/recognize-tables.ts';
import { type ChangeReason, columnOfPlan, columnsOfPlan, recordChanges } from './plan-changes.ts';
import { insertError } from './unfilled-columns.ts';

/** A team as Instep sees it: its customer and its plan. */
export type Team = {
  readonly id: ApplicationId;
  readonly customerId: string | null;
  readonly plan: TeamPlan;
};

export type LinkedTeam = Team & { readonly customerId: string };

/** A team's columns of `rows`, under the contract's names. */
export const TEAM = `
  id,
  provider_customer_id as "customerId",
  provider_subscription_id as "providerSubscriptionId",
  provider_product_id as "providerProductId",
  plan_name as "planName",
  subscription_status as "subscriptionStatus"`;

export type TeamRow<CustomerId = string | null> = TeamPlan & {
  readonly id: ApplicationId;
  readonly customerId: CustomerId;
};

/** A plan to write to a team, which is as it was read under its lock. */
export type PlanWrite = {
  readonly team: Team;
  readonly shouldBe: TeamPlan;
  readonly reason: ChangeReason;
};

const PLAN_COLUMNS = PLAN_FIELDS.map((field) => ({
  field,
  column: contractColumn(field),
  before: columnOfPlan(field, 'before'),
}));

const WRITE_COLUMNS = {
  team_id: 'text',
  customer_id: 'text',
  ...Object.fromEntries(
    PLAN_COLUMNS.flatMap(({ column, before }) => [
      [column, 'text'],
      [before, 'text'],
    ]),
  ),
  cause: 'text',
  event_id: 'text',
  event_created_seconds: 'bigint',
  operator: 'text',
};

const plansAs = (count: Count, idType: string) =>
  rowsAs('plan', { ...WRITE_COLUMNS, team_id: idType }, count);

function rowOf({ team, shouldBe, reason }: PlanWrite) {
  const plans: Record<string, string | null> = {};
  for (const { field, column, before } of PLAN_COLUMNS) {
    plans[column] = shouldBe[field];
    plans[before] = team.plan[field];
  }
  const { cause, eventId, eventCreatedSeconds, operator } = reason;
  const why = { cause, event_id: eventId, event_created_seconds: eventCreatedSeconds, operator };
  return { team_id: team.id, customer_id: team.customerId, ...plans, ...why };
}

/** What `recordChanges` needs of a written row, whose columns have these names. */
const changeOf = (columnOf: (field: keyof TeamPlan) => string) => `
                  plan.team_id::text as team_id, plan.customer_id, plan.cause, plan.event_id,
                  to_timestamp(plan.event_created_seconds) as event_created_at, plan.operator,
                  ${columnsOfPlan('before')
                    .map((column) => `plan.${column}`)
                    .join(', ')},
                  ${PLAN_FIELDS.map((field) => `${columnOf(field)}::text as ${columnOfPlan(field, 'after')}`).join(', ')},
                  ${isPlan(columnOf)} as is_written`;

const updatePlans = (
  count: Count,
  { teams: { name, column, idType, setUpdatedAt } }: ApplicationTables,
) => `
      update ${name} as team
         set ${PLAN_FIELDS.map((field) => `${column(field)} = plan.${contractColumn(field)}`).join(', ')}
             ${setUpdatedAt}
        from ${plansAs(count, idType)}
       where team.${column('id')} = plan.team_id`;

// A trigger that returns null, a policy or a rule can skip the update of a row without an error. The commit is sent
// together with this statement, so only the statement itself can prevent it: by casting a text to a boolean. The
// application can shorten a name, so names are not compared.
const failUnlessAll = (count: Count, { teams: { name } }: ApplicationTables, written: string) => `
      select case
               when count(*) >= ${count === 'one' ? 1 : 'cardinality($1)'} then false
               else (
                 select 'the plan was not written: skipped by a policy, a rule or a trigger '
                        || coalesce('(' || string_agg(quote_ident(name), ', ') || ')', '')
                   from (
                          select tgname
                            from pg_trigger
                           where tgrelid = ${regclass(name)}
                             and not tgisinternal
                             and tgtype & ${BEFORE_OR_INSTEAD_OF} > 0
                             and tgtype & ${OF_UPDATE} > 0
                           union all
                          select rulename
                            from pg_rewrite
                           where ev_class = ${regclass(name)}
                             and ev_type = ${RULE_ON_UPDATE}
                             and is_instead
                        ) as skipping (name)
               )::boolean
             end
        from ${written}`;

const isPlan = (columnOf: (field: keyof TeamPlan) => string) =>
  PLAN_FIELDS.filter((field) => field !== 'planName')
    .map((field) => `${columnOf(field)} is not distinct from plan.${contractColumn(field)}`)
    .join(' and ');

const WRITE_PLANS = forEachCount((count) => (tables: ApplicationTables) => {
  const { column, returnsUpdates } = tables.teams;
  if (!returnsUpdates) return updatePlans(count, tables);
  return `
      with updated as (${updatePlans(count, tables)}
        returning ${changeOf((field) => `team.${column(field)}`)}
      ),
      recorded as (${recordChanges('updated')}
      )
      ${failUnlessAll(count, tables, 'updated where is_written')}`;
});

const CHECK_PLANS = forEachCount((count) => (tables: ApplicationTables) => {
  const { idType, rows } = tables.teams;
  return `
      with updated as (
        select ${changeOf((field) => `team.${contractColumn(field)}`)}
          from ${plansAs(count, idType)}
          join ${rows} as team on team.id = plan.team_id
      ),
      recorded as (${recordChanges('updated')}
      )
      ${failUnlessAll(count, tables, 'updated where is_written')}`;
});

/** The bits of `pg_trigger.tgtype`. */
const BEFORE_OR_INSTEAD_OF = 2 | 64;
const OF_UPDATE = 16;

/**
 * Writes the plans of teams that are locked, and records what changes. Other columns are the application's.
 *
 * @throws DatabaseRefused when the application skips the update of a row, or refuses it
 */
export async function writePlans(query: Query, writes: readonly PlanWrite[]): Promise<void> {
  const rows = writes.map(rowOf);
  const count = countOf(rows);
  const values = valuesOf(rows, WRITE_COLUMNS);
  await Promise.all([
    query({ name: 'write_plans', text: WRITE_PLANS[count], values }),
    query({
      name: 'check_plans',
      text: CHECK_PLANS[count],
      values,
      isNeeded: ({ teams }) => !teams.returnsUpdates,
    }),
  ]);
}

/** Customers with a known plan, and with a team whose plan columns are all empty, except some. */
export async function readCustomersOfEmptyTeams(
  query: Query,
  { afterId, limit, exceptIds }: PageAfter & { exceptIds: readonly string[] },
): Promise<Examined<string>> {
  const { found, examinedTo } = await examineTeams<{ customerId: string }>(query, {
    name: 'read_customers_of_empty_teams',
    found: () => `found as (
        select distinct provider_customer_id as "customerId"
          from examined
         where provider_customer_id is not null
           and ${PLAN_FIELDS.map((field) => `${contractColumn(field)} is null`).join(' and ')}
           and exists (
                 select
                   from instep.subscriptions
                  where customer_id = provider_customer_id
                    and status is not null
               )
           and provider_customer_id <> all ($2::text[])
         limit $3
      )`,
    values: [exceptIds, limit],
    afterId,
  });
  return { found: found.map(({ customerId }) => customerId), examinedTo };
}

/** A page of teams, in the order of their ids. */
export type PageAfter = {
  /** `null`: the first page. */
  readonly afterId: ApplicationId | null;
  readonly limit: number;
};

/** Those of the next teams that have a customer. */
export async function readLinkedTeams(
  query: Query,
  page: { readonly afterId: ApplicationId | null; readonly limit?: number },
): Promise<Examined<LinkedTeam>> {
  const { found, examinedTo } = await examineTeams<TeamRow<string>>(query, {
    name: 'read_linked_teams',
    found: () => `found as (
        select ${TEAM}
          from examined
         where provider_customer_id is not null
      )`,
    ...page,
  });
  return { found: found.map(toTeam), examinedTo };
}

const COUNT_LINKED_TEAMS = ({ teams }: ApplicationTables) =>
  `select count(*) as count from ${teams.rows} as teams where provider_customer_id is not null`;

export async function countLinkedTeams(query: Query): Promise<number> {
  const [row] = await query<{ count: number }>({
    name: 'count_linked_teams',
    text: COUNT_LINKED_TEAMS,
  });
  return row?.count ?? 0;
}

const READ_TEAMS_OF = ({ teams }: ApplicationTables) => `
      select ${TEAM}
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
      select ${TEAM}
        from ${teams.rows} as teams
       where id = ${idFrom(teams.idType, '$1::text')}`;

/** The team with this id, or `null`. */
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
  const [row] = await query<{ isOther: boolean }>({
    name: 'is_id_of_another',
    text: IS_ID_OF_ANOTHER,
    values: [id, text],
  });
  return row?.isOther === true;
}

/** Leaves out the name if the table has no column for it. */
export const NEW_TEAM = ({ teams: { name, column, hasNames } }: ApplicationTables) => ({
  table: name,
  filled: [...(hasNames ? [column('name')] : []), column('providerCustomerId')],
});

const ADD_TEAM = (tables: ApplicationTables) => {
  const { table, filled } = NEW_TEAM(tables);
  const { hasNames, column } = tables.teams;
  return `
      insert into ${table} (${filled.join(', ')})
      select ${hasNames ? '$1, ' : ''}$2
       where $1::text is not null
      returning ${column('id')} as id`;
};

/**
 * Adds a team, and returns its id.
 *
 * @throws DatabaseRefused when another team is linked to the customer, or the table has other required columns
 */
export async function addTeam(
  query: Query,
  team: { name: string; customerId: string | null },
): Promise<ApplicationId> {
  const [row] = await query<{ id: ApplicationId }>({
    name: 'add_team',
    text: ADD_TEAM,
    values: [team.name, team.customerId],
  }).catch(async (error) => {
    throw await insertError(query, error, NEW_TEAM);
  });
  if (row === undefined) throw new RangeError('the inserted team was not returned');
  return row.id;
}

/** The team of a row with the columns of `TEAM`. */
export function toTeam<CustomerId>({ id, customerId, ...plan }: TeamRow<CustomerId>) {
  return { id, customerId, plan };
}
