// Reads teams as people see them: with a name, the plan that they lost, and since when a payment is due. Every
// function of operate/ that shows a team uses it; find-teams.ts uses its SQL.

import {
  type ApplicationId,
  type ApplicationTables,
  type Database,
  idFrom,
  type Query,
  type Team,
  teamColumns,
} from 'instep-engine/postgres';

/** A team with its name, for people. */
export type NamedTeam = Team & {
  /** `null` where the application's table has no names. */
  readonly name: string | null;
  /** The plan that the team had until its subscription ended. */
  readonly lostPlan: LostPlan | null;
  /**
   * Since when its subscription has been unpaid or past due, in milliseconds since 1970; `null`: it is neither. The
   * `payment_due_since` of access counts only while it is past due, because an unpaid one has no access.
   */
  readonly dueSinceMs: number | null;
};

export type LostPlan = { readonly productId: string; readonly planName: string | null };

/** SQL that joins what is known of the customer of a team: the subscription that decides access. */
export const JOIN_STATE = `
        left join lateral (
               select access_subscription_id, access_status, access_since, due_since,
                      access_product_id, coalesce(access_plan_name, product.name) as access_plan_name
                 from instep.customers
                 left join instep.products as product on product.product_id = access_product_id
                where customer_id = teams.provider_customer_id
             ) as state on true`;

/** SQL: whether a team has no plan because its subscription has ended. One that has only a status possibly had a plan. */
export const HAS_LOST_PLAN = `
             teams.provider_subscription_id is null
             and teams.provider_product_id is null
             and teams.plan_name is null
             and teams.subscription_status is not null
             and state.access_status in ('canceled', 'unpaid')
             and state.access_product_id is not null`;

/** SQL: whether the subscription that decides a team's plan is past due or unpaid. */
export const IS_DUE = `
             state.due_since is not null
             and case state.access_status
                   when 'past_due' then state.access_subscription_id = teams.provider_subscription_id
                   when 'unpaid' then teams.subscription_status::text = 'unpaid'
                 end`;

/** The columns of a team of `teams` with its `state`. */
export const namedTeam = ({ teams }: ApplicationTables) => `${teamColumns(teams)},
             name,
             case
               when ${HAS_LOST_PLAN}
                 then jsonb_build_object('productId', access_product_id, 'planName', access_plan_name)
             end as "lostPlan",
             case
               when ${IS_DUE}
                 then (extract(epoch from access_since) * 1000)::bigint
             end as "dueSinceMs"`;

/**
 * SQL for the teams (`team_id`) of the people with this address, which is entered or in lower case, as apps store it: an index
 * on the app's column finds both, and without one, the users are read only for an address. No row without a table of members,
 * or without users.
 */
export function teamsOfEmail({ teams, users, members }: ApplicationTables, address: string) {
  return users === null || members === null
    ? `select id as team_id from ${teams.rows} as teams where false`
    : `
               select member.team_id
                 from ${members.rows} as member
                 join ${users.rows} as person
                   on person.id = member.user_id
                where strpos(${address}, '@') > 0
                  and person.deleted_at is null
                  and person.email in (${address}, lower(${address}))`;
}

/** SQL for the `id` of the teams that have exactly this id, customer, subscription or person. */
export const exactTeams = (tables: ApplicationTables, text: string) => `
        select id
          from ${tables.teams.rows} as teams
         where id = ${idFrom(tables.teams.id.type, `${text}::text`)}
            or provider_customer_id = any (${text}::text || array(
                 select customer_id
                   from instep.customers
                  where subscription_ids @> array[${text}::text]
               ))
            or id = any (array(
                 select team_id
                   from (${teamsOfEmail(tables, `${text}::text`)}) as member
               ))
         limit 1000`;

/** A function that reads teams, in the order of their ids; `condition` is SQL with the value as `$1`. */
function readerOf<Value>(name: string, condition: (tables: ApplicationTables) => string) {
  const text = (tables: ApplicationTables) => `
      select ${namedTeam(tables)}
        from ${tables.teams.rows} as teams ${JOIN_STATE}
       where ${condition(tables)}
       order by id
       limit $2`;
  return async (query: Query, value: Value, limit = MAX_TEAMS) =>
    await query<NamedTeam>({ name, text, values: [value, limit] });
}

/** A customer has more than one team only by accident. */
const MAX_TEAMS = 1_000;

const readTeamsWithId = readerOf<string>(
  'read_team',
  ({ teams }) => `id = ${idFrom(teams.id.type, '$1::text')}`,
);

/**
 * The team with this id; `null` when there is none.
 *
 * @example
 * ```ts
 * console.log(await readTeam(context, 7)); // null
 * ```
 */
export async function readTeam(
  { database: { query } }: { readonly database: Pick<Database, 'query'> },
  id: ApplicationId,
): Promise<NamedTeam | null> {
  return (await readTeamsWithId(query, String(id)))[0] ?? null;
}

/** The first teams with exactly this name. */
export const readTeamsWithName = readerOf<string>('read_teams_with_name', () => 'name = $1');

/** The first teams that have exactly this id, customer, subscription or person. */
export const readExactTeams = readerOf<string>(
  'read_exact_teams',
  (tables) => `id = any (array(${exactTeams(tables, '$1')}))`,
);

/** The first teams of these customers. */
export const readNamedTeamsOf = readerOf<readonly string[]>(
  'read_named_teams_of',
  () => 'provider_customer_id = any ($1::text[])',
);
