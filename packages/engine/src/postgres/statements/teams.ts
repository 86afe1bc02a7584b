// Reads teams and writes their plans, in the app's table. Whatever changes a plan calls `writePlans`. In the SQL,
// `teams.rows` is the app's table with the contract's names for its columns (tables/application-tables.ts), and `rowsAs`
// makes rows of the parameters, one or many (statement.ts).

import { PLAN_FIELDS, type PlanInRow } from '../../rule/plan-fields.ts';
import type { ApplicationId } from '../application.ts';
import { type Query, unlessRefused } from '../database.ts';
import { type Examined, examineTeams } from '../examine.ts';
import { onlyRow, parametersOf, rowsAs, textsByRowCount } from '../named-statement.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';
import { idFrom } from '../tables/id-from-text.ts';
import {
  assigned,
  columnOf,
  comparable,
  fieldsOf,
  teamField,
  valueInTeam,
} from '../teams-table.ts';
import { type ChangedBy, IS_CHANGE, recordChanges } from './plan-changes.ts';

/** A team as Instep sees it: its customer and its plan. */
export type Team = {
  readonly id: ApplicationId;
  readonly customerId: string | null;
  readonly plan: PlanInRow;
};

export type LinkedTeam = Team & { readonly customerId: string };

/** A team's columns of `rows`, under the contract's names: of its plan, those that the table has. Times are in seconds. */
export function teamColumns({ table }: ApplicationTables['teams']): string {
  const plan = fieldsOf(table).map((field) => {
    return `${comparable(columnOf(field), field.type)} as "${field.name}"`;
  });
  return ['id', 'provider_customer_id as "customerId"', ...plan].join(', ');
}

/** SQL for the plan of a row of `teams`: `jsonb_build_object('subscriptionStatus', teams.subscription_status::text, …)`. */
export function planAsJson({ table }: ApplicationTables['teams']): string {
  const pairs = fieldsOf(table).map((field) => {
    return `'${field.name}', ${comparable(`teams.${columnOf(field)}`, field.type)}`;
  });
  return `jsonb_build_object(${pairs.join(', ')})`;
}

export type TeamRow<CustomerId = string | null> = PlanInRow & {
  readonly id: ApplicationId;
  readonly customerId: CustomerId;
};

/** A plan to write to a team, which is as it was read under its lock. */
export type PlanWrite<OfTeam extends Team = Team> = {
  readonly team: OfTeam;
  readonly shouldBe: PlanInRow;
  readonly changedBy: ChangedBy;
};

const seconds = (type: string) => (type === 'timestamptz' ? 'bigint' : type);

/** The parameters of `writePlans`: the plan that a team gets, the one that it has (`…_before`), and why it changes. */
const WRITE_COLUMNS: Readonly<Record<string, string>> = {
  team_id: 'text',
  customer_id: 'text',
  ...Object.fromEntries(
    PLAN_FIELDS.flatMap((field) => [
      [columnOf(field), seconds(field.type)],
      [`${columnOf(field)}_before`, seconds(field.type)],
    ]),
  ),
  cause: 'text',
  event_id: 'text',
  event_created_seconds: 'bigint',
  operator: 'text',
  action_id: 'bigint',
};

function rowOf({ team, shouldBe, changedBy }: PlanWrite, isNamed: boolean) {
  const plan = PLAN_FIELDS.flatMap((field) => [
    [columnOf(field), field.name === 'planName' && !isNamed ? null : shouldBe[field.name]],
    [`${columnOf(field)}_before`, team.plan[field.name]],
  ]);
  return {
    team_id: team.id,
    customer_id: team.customerId,
    ...Object.fromEntries(plan),
    cause: changedBy.cause,
    event_id: changedBy.eventId,
    event_created_seconds: changedBy.eventCreatedSeconds,
    operator: changedBy.operator?.name,
    action_id: changedBy.operator?.actionId,
  };
}

/** Updates the teams, records their changes, and fails if one does not have its plan. */
const WRITE_PLANS = textsByRowCount(
  (count) =>
    ({ teams: { table, idType } }: ApplicationTables) => {
      const fields = fieldsOf(table).map((field) => {
        const column = columnOf(field);
        const parameter = (name: string) =>
          field.type === 'timestamptz' ? `to_timestamp(plan.${name})` : `plan.${name}`;
        const value = parameter(column);
        return {
          before: `${parameter(`${column}_before`)} as ${column}_before`,
          assigned: assigned(table, field, value),
          returned: `${teamField(table, field)}::${field.type} as ${column}_after`,
          after: `written.${column}_after`,
          // A trigger that returns null, a policy or a view can skip the update of a row without an error, and a trigger can
          // change its values. The commit is sent together with this statement, so only the statement itself can prevent it.
          // The application can shorten a name, so names are not compared. What a trigger does after the update is not seen.
          isWritten:
            field.name === 'planName'
              ? []
              : `written.${column}_after is not distinct from ${valueInTeam(table, field, value)}`,
        };
      });
      const others = PLAN_FIELDS.filter(({ name }) => !table.plan.has(name)).flatMap((field) =>
        ['before', 'after'].map((when) => `null::${field.type} as ${columnOf(field)}_${when}`),
      );
      const touched = table.updatedAt === null ? [] : `${table.updatedAt} = now()`;
      return `
      with plan as ${count === 'one' ? 'not materialized' : 'materialized'} (
        select *
          from ${rowsAs('plan', { ...WRITE_COLUMNS, team_id: idType }, count)}
      ),
      written as (
        update ${table.name} as teams
           set ${[...fields.map(({ assigned }) => assigned), touched].flat().join(',\n               ')}
          from plan
         where teams.${table.id.column} = plan.team_id
        returning teams.${table.id.column} as id,
                  ${fields.map(({ returned }) => returned).join(',\n                  ')}
      )
      ${recordChanges(
        `(
                 select plan.team_id::text as team_id, plan.customer_id, plan.cause, plan.event_id,
                        to_timestamp(plan.event_created_seconds) as event_created_at, plan.operator, plan.action_id,
                        ${[...fields.flatMap(({ before, after }) => [before, after]), ...others].join(',\n                        ')},
                        ${['written.id is not null', ...fields.flatMap(({ isWritten }) => isWritten)].join('\n                        and ')} as is_written
                   from plan
                   left join written on written.id = plan.team_id
               ) as change`,
        `case when is_written then ${IS_CHANGE} else instep.refuse_unwritten_plan() end`,
      )}`;
    },
);

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
    found: ({ teams }) => `found as (
        select provider_customer_id as "customerId"
          from examined
         where ${fieldsOf(teams.table).map(isEmpty).join('\n           and ')}
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

/** SQL. Where a flag can't be null, it is false. */
function isEmpty(field: (typeof PLAN_FIELDS)[number]): string {
  const column = columnOf(field);
  return field.type === 'boolean' ? `${column} is not true` : `${column} is null`;
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
    found: ({ teams }) => `found as (
        select ${teamColumns(teams)}
          from examined
         where provider_customer_id is not null
      )`,
    ...page,
  });
  return { found: found.map(toTeam), examinedTo };
}

const READ_TEAMS_OF = ({ teams }: ApplicationTables) => `
      select ${teamColumns(teams)}
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
      select ${teamColumns(teams)}
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

/** The team of a row with the columns of `teamColumns`. */
export function toTeam<CustomerId>({ id, customerId, ...plan }: TeamRow<CustomerId>) {
  return { id, customerId, plan };
}
