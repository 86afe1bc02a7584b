// Reads teams as people see them: with a name, the plan that they lost, and since when a payment is due. Every
// function of operate/ that shows a team uses it; find-teams.ts uses its SQL.

import { type LoggedEvent, parseLogged } from 'instep-engine/log';
import {
  type ApplicationId,
  type ApplicationTables,
  idFrom,
  type Query,
  type Team,
  teamColumns,
} from 'instep-engine/postgres';
import { type Mode, mismatchOf, originOfBody, teamNamedIn } from 'instep-engine/stripe';

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
const IS_DUE = `
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
 * SQL for the teams (`team_id`) of the people with one of these addresses (`email`, in lower case), which are entered or in
 * lower case, as apps store them: an index on the app's column finds both. No row without a table of members, or without users.
 */
export function teamsOfEmails({ teams, users, members }: ApplicationTables, addresses: string) {
  return users === null || members === null
    ? `select id as team_id, null as email from ${teams.rows} as teams where null = any (${addresses})`
    : `
               select member.team_id, lower(person.email) as email
                 from ${members.rows} as member
                 join ${users.rows} as person
                   on person.id = member.user_id
                where person.deleted_at is null
                  and person.email = any (${addresses})`;
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
                   from (${teamsOfEmails(tables, `array[${text}::text, lower(${text})]`)}) as member
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

/** The teams with these ids, as they are entered. */
const readTeamsWithIds = readerOf<readonly string[]>(
  'read_named_teams',
  ({ teams }) =>
    `id = any (array(select ${idFrom(teams.id.type, 'entered.id')} from unnest($1::text[]) as entered (id)))`,
);

/** The team with this id, or `null`. */
export async function readNamedTeam(query: Query, id: ApplicationId): Promise<NamedTeam | null> {
  return (await readTeamsWithIds(query, [String(id)]))[0] ?? null;
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

const READ_TEAMS_OF_EMAILS = (tables: ApplicationTables) => `
      select member.email,
             ${namedTeam(tables)}
        from (${teamsOfEmails(tables, '$1::text[]')}) as member
        join ${tables.teams.rows} as teams on teams.id = member.team_id ${JOIN_STATE}
       order by id`;

/** The teams of the people with these addresses, by address in lower case. */
export async function readTeamsOfEmails(
  query: Query,
  emails: readonly string[],
): Promise<ReadonlyMap<string, readonly NamedTeam[]>> {
  if (emails.length === 0) return new Map();
  const rows = await query<NamedTeam & { readonly email: string }>({
    name: 'read_teams_of_emails',
    text: READ_TEAMS_OF_EMAILS,
    values: [[...emails, ...emails.map((email) => email.toLowerCase())]],
  });
  const teams = new Map<string, NamedTeam[]>();
  for (const { email, ...team } of rows) teams.set(email, [...(teams.get(email) ?? []), team]);
  return teams;
}

/** The key of metadata that names a team, and the mode of the API key. */
export type TeamNaming = { readonly teamKey: string; readonly keyMode: Mode | null };

/**
 * What the metadata of an event's subscription names, if it can be the id of a team; `null` for an event of another
 * account or mode, where others can write metadata.
 */
function teamNamedBy(event: LoggedEvent, { teamKey, keyMode }: TeamNaming): string | null {
  if (mismatchOf(originOfBody(event.body), keyMode) !== null) return null;
  const parsed = parseLogged(event);
  return parsed && teamNamedIn(parsed.object, teamKey);
}

/**
 * The teams that the metadata of logged events names, by the position of the event. That is probably
 * the team of the event's customer.
 */
export async function readTeamsNamedBy(
  query: Query,
  events: readonly LoggedEvent[],
  naming: TeamNaming,
): Promise<ReadonlyMap<number, NamedTeam>> {
  const named = events.flatMap((event) => {
    const text = teamNamedBy(event, naming);
    return text === null ? [] : [{ position: event.position, text }];
  });
  if (named.length === 0) return new Map();
  const found = await readTeamsWithIds(query, [...new Set(named.map(({ text }) => text))]);
  const teams = new Map(found.map((team) => [String(team.id), team]));
  return new Map(
    named.flatMap(({ position, text }) => {
      const team = teams.get(text.toLowerCase());
      return team === undefined ? [] : [[position, team] as const];
    }),
  );
}
