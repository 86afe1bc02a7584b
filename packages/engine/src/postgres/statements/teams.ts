// Reads teams in the app's table. In the SQL, `teams.rows` is that with the contract's names for its columns
// (tables/application-tables.ts).

import type { PLAN_FIELDS, PlanInRow } from '../../rule/plan-fields.ts';
import type { ApplicationId } from '../application.ts';
import type { Query } from '../database.ts';
import { DatabaseRefused } from '../errors.ts';
import type { Examined, Search } from '../examine.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';
import { idFrom, isAfter } from '../tables/id-from-text.ts';
import { comparable, fieldsOf, ownColumn, planJson, type TeamsTable } from '../teams-table.ts';

/** A team as Instep sees it: its customer and its plan. */
export type Team = {
  readonly id: ApplicationId;
  readonly customerId: string | null;
  readonly plan: PlanInRow;
};

export type LinkedTeam = Team & { readonly customerId: string };

/** SQL for the plan of a row of `teams.rows`. */
export const planAsJson = (teams: TeamsTable): string =>
  `${planJson(teams, (field) => comparable(`teams.${ownColumn(field)}`, field.type))}::jsonb`;

/** SQL for the columns of a `Team`, from `teams`. */
export const teamColumns = (teams: ApplicationTables['teams']) => `
             teams.id,
             teams.provider_customer_id as "customerId",
             ${planAsJson(teams)} as plan`;

const TEAMS_AFTER = ({ teams }: ApplicationTables) => `
        select *
          from ${teams.rows} as teams
         where ${isAfter(teams.id.type, '$1::text')}`;

const EMPTY_OF_EXAMINED = ({ teams }: ApplicationTables) => `
        select provider_customer_id
          from examined
         where ${fieldsOf(teams).map(isEmpty).join('\n           and ')}
           and exists (
                 select
                   from instep.customers
                  where customer_id = provider_customer_id
                    and customers.subscription_status is not null
               )
           and provider_customer_id <> all ($2::text[])
         limit $3`;

/** The customers of the next teams whose plan columns are all empty although a plan of the customer is known. */
export const EMPTY_TEAMS: Search = {
  name: 'read_empty_teams',
  rows: TEAMS_AFTER,
  key: 'id',
  due: EMPTY_OF_EXAMINED,
};

/** SQL. Where a flag can't be null, it is false. */
function isEmpty(field: (typeof PLAN_FIELDS)[number]): string {
  const column = ownColumn(field);
  return field.type === 'boolean' ? `${column} is not true` : `${column} is null`;
}

/** How many teams are read at once. */
const TEAMS = 500;

const READ_NEXT_TEAMS = ({ teams }: ApplicationTables) => `
      select${teamColumns(teams)}
        from ${teams.rows} as teams
       where ${isAfter(teams.id.type, '$1::text')}
       order by id
       limit ${TEAMS}`;

/** Those of the next teams that have a customer; `afterId` is `null` for the first. */
export async function readLinkedTeams(
  query: Query,
  afterId: ApplicationId | null,
): Promise<Examined<LinkedTeam>> {
  const reading = { name: 'read_linked_teams', text: READ_NEXT_TEAMS, values: [afterId] };
  const rows = await query<Team>(reading);
  const found = rows.filter((team): team is LinkedTeam => team.customerId !== null);
  return { found, examinedTo: rows.length < TEAMS ? null : (rows.at(-1)?.id ?? null) };
}

const READ_TEAMS_OF = ({ teams }: ApplicationTables) => `
      select${teamColumns(teams)}
        from ${teams.rows} as teams
       where provider_customer_id = any ($1::text[])
       order by id`;

/** The teams of these customers, in the order of their ids. */
export async function readTeamsOf(
  query: Query,
  customerIds: readonly string[],
): Promise<LinkedTeam[]> {
  return await query<LinkedTeam>({
    name: 'read_teams_of',
    text: READ_TEAMS_OF,
    values: [customerIds],
  });
}

const TEAM_WITH_ID = ({ teams }: ApplicationTables) => `
      select${teamColumns(teams)}
        from ${teams.rows} as teams
       where id = ${idFrom(teams.id.type, '$1::text')}`;

export async function readTeam(query: Query, id: ApplicationId): Promise<Team | null> {
  const [team = null] = await query<Team>({ name: 'read_team', text: TEAM_WITH_ID, values: [id] });
  return team;
}

const LOCK_TEAM = (tables: ApplicationTables) => `${TEAM_WITH_ID(tables)} for update`;

/**
 * The team with this id, locked until the transaction ends; `null`: there is none.
 *
 * @throws DatabaseRefused when row level security hides it from updates; DatabaseBusy
 */
export async function lockTeam(query: Query, id: ApplicationId): Promise<Team | null> {
  const [team] = await query<Team>({ name: 'lock_team', text: LOCK_TEAM, values: [id] });
  if (team !== undefined) return team;
  if ((await readTeam(query, id)) === null) return null;
  throw new DatabaseRefused(
    'row level security hides the team from updates: `instep tables` prints the policy to create',
  );
}

/** Leaves out the name if the table has no column for it. */
const ADD_TEAM = ({ teams: { nameColumn, ...table } }: ApplicationTables) => `
      insert into ${table.name} (${nameColumn === null ? '' : `${nameColumn}, `}${table.customerId})
      select ${nameColumn === null ? '' : '$1, '}$2
       where $1::text is not null
      returning ${table.id.column} as id`;

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
