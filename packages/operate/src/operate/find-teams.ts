// Finds teams by a filter, in the order of their ids, without reading all of a large table: `findTeams`, and
// `findCustomers`. The console's lists and search call it, `instep team list`, and actions.ts for a team's name.

import {
  type ApplicationId,
  type ApplicationTables,
  type Database,
  type Examined,
  idFrom,
  isAfter,
  ProfileOff,
  type Query,
  readCustomerIdsOf,
  rowsOf,
} from 'instep-engine/postgres';
import { hasIssue, TEAM_ISSUES, type TeamIssueCode } from '../issues/issues.ts';
import { TEAM_STATUS } from '../issues/team-counts.ts';
import { type PageEnds, type PageStart, readPage } from '../runtime/pages.ts';
import { MembersUnknown, teamIdsOfEmail } from '../teams/members.ts';
import {
  JOIN_LOST_PLAN,
  type NamedTeam,
  type NamedTeamRow,
  namedTeam,
  readNamedTeam,
  readNamedTeamsOf,
  readTeamsWithName,
  toNamedTeam,
} from '../teams/named-teams.ts';
import type { ActionResult } from './audit.ts';
import type { OperateContext, PageRequest, Search } from './context.ts';

/** A page of teams. Its ends are ids. */
export type PageOfTeams = PageEnds<ApplicationId> & {
  readonly teams: readonly NamedTeam[];
  /** Whether its text is the email address of a person of these teams. */
  readonly isOfPerson: boolean;
  /** Why nobody could be looked up by the email address that its text can be; `null`: it is none, or was looked up. */
  readonly peopleUnknown: PeopleUnknown | null;
};

/** No table says which users belong to which teams, or the profile is off. */
export type PeopleUnknown = 'MEMBERS_UNKNOWN' | 'PROFILE_OFF';

type Request = Required<PageRequest<PageStart<ApplicationId>>> &
  Pick<OperateContext, 'clockMs'> & { readonly filter: TeamFilter };

const LIMIT = 50;

/** An id in an address of Stripe's dashboard. */
const ID_IN_URL = /^https:\/\/dashboard\.stripe\.com\/\S*\b((?:cus|sub|evt)_\w+)/;

/**
 * What an entered text searches for: an id can come from an address of Stripe's dashboard, or begin with `#`.
 *
 * @example
 * ```ts
 * console.log(searchedText('#2144')); // 2144
 * ```
 */
export function searchedText(entered: string): string {
  return ID_IN_URL.exec(entered)?.[1] ?? entered.replace(/^#(?=\w)/, '');
}

/**
 * The teams that match a filter, in the order of their ids. Its text is also searched as the email address of a person, an id,
 * a customer or a subscription: if a customer or a subscription has this id, its teams are found, and otherwise the team with
 * this id and those that match. A page of a large table takes several calls: it continues at `searchedTo`. All rows have no
 * time limit.
 *
 * @throws InstepError for `email`: `MEMBERS_UNKNOWN` if no table says which users belong to which teams, or `PROFILE_OFF`
 * @example
 * ```ts
 * const { teams, next } = await findTeams(context, { text: 'acme' }).page({ limit: 10 });
 * console.log(teams.length, next); // 0 null
 * for await (const { id, plan } of findTeams(context, { issue: 'out-of-sync' }).all()) {
 *   console.log(id, plan.subscriptionStatus);
 * }
 * ```
 */
export function findTeams(
  { database: { query }, clockMs }: OperateContext,
  filter: TeamFilter = {},
): Search<NamedTeam, PageOfTeams, PageStart<ApplicationId>> {
  return {
    page: ({ start = null, limit = LIMIT } = {}) =>
      findPage(query, { filter, start, limit, clockMs }),
    async *all() {
      // A clock that stands still sets no time limit.
      const request = { filter, limit: EXPORT_PAGE, clockMs: () => 0 };
      yield* rowsOf<NamedTeam, ApplicationId>(async (key) => {
        const start = key === null ? null : ({ side: 'after', key } as const);
        const { teams, next } = await findPage(query, { ...request, start });
        return { found: teams, examinedTo: next };
      });
    },
  };
}

const EXPORT_PAGE = 1_000;

async function findPage(query: Query, request: Request): Promise<PageOfTeams> {
  const { text: entered, ...others } = request.filter;
  const text = entered && searchedText(entered);
  if (!text?.includes('@') || others.email !== undefined) {
    return { ...(await findByText(query, request, text)), isOfPerson: false, peopleUnknown: null };
  }
  try {
    const found = await search(query, { ...request, filter: { ...others, email: text } });
    return { ...found, isOfPerson: true, peopleUnknown: null };
  } catch (error) {
    if (!(error instanceof MembersUnknown || error instanceof ProfileOff)) throw error;
    const found = await findByText(query, request, text);
    return { ...found, isOfPerson: false, peopleUnknown: error.code };
  }
}

type FoundTeams = Pick<PageOfTeams, 'teams' | keyof PageEnds<ApplicationId>>;

async function findByText(
  query: Query,
  { filter, ...request }: Request,
  text: string | undefined,
): Promise<FoundTeams> {
  const { text: _, ...others } = filter;
  const matching = () => search(query, { ...request, filter: { ...others, text } });
  const isTextOnly = Object.values(others).every((one) => one === undefined);
  if (text === undefined || request.start !== null || !isTextOnly) return await matching();
  const { teams } = await findCustomers({ database: { query } }, text, request.limit);
  if (teams.length > 0) return { teams, next: null, previous: null, searchedTo: null };
  const byId = await readNamedTeam(query, text);
  const page = await matching();
  if (byId === null) return page;
  return { ...page, teams: [byId, ...page.teams.filter((team) => team.id !== byId.id)] };
}

/** Customers, and the teams that have one of them. */
export type FoundCustomers = {
  readonly customerIds: readonly string[];
  readonly teams: readonly NamedTeam[];
};

/**
 * Finds the customer with an id, which is returned whether it is known or not, and the customers of the subscription
 * with this id, with their teams.
 *
 * @example
 * ```ts
 * const { customerIds, teams } = await findCustomers(context, 'sub_123');
 * console.log(customerIds, teams.length); // [ 'sub_123' ] 0
 * ```
 */
export async function findCustomers(
  { database: { query } }: { readonly database: Pick<Database, 'query'> },
  id: string,
  limit = LIMIT,
): Promise<FoundCustomers> {
  const customerIds = [id, ...(await readCustomerIdsOf(query, id, limit))];
  return { customerIds, teams: await readNamedTeamsOf(query, customerIds, limit) };
}

/**
 * The team with this id; `null` when there is none.
 *
 * @example
 * ```ts
 * console.log(await readTeam(context, 7)); // null
 * ```
 */
export async function readTeam(
  { database: { query } }: OperateContext,
  id: ApplicationId,
): Promise<NamedTeam | null> {
  return await readNamedTeam(query, id);
}

/** How many teams are offered for a text that is neither an id nor a name. */
const MAX_CANDIDATES = 5;

/**
 * The team with this id, the only one with exactly this name, or the only one of the person with this email address. For
 * any other text, the teams that it can mean.
 *
 * @example
 * ```ts
 * const team = await teamNamed(context, '#2144');
 * console.log('code' in team ? team.code : team.name); // no-such-team
 * ```
 */
export async function teamNamed(
  context: OperateContext,
  entered: string,
): Promise<NamedTeam | Extract<ActionResult, { code: 'no-such-team' | 'several-teams' }>> {
  const { query } = context.database;
  const text = searchedText(entered);
  if (text === '') return { code: 'no-such-team', text };
  const byId = await readNamedTeam(query, text);
  if (byId !== null) return byId;
  const named = await readTeamsWithName(query, text, MAX_CANDIDATES);
  const page = await findTeams(context, { text }).page({ limit: MAX_CANDIDATES });
  const isExact = named.length > 0 || page.isOfPerson;
  const found = named.length > 0 ? named : page.teams;
  const [team, ...others] = found;
  if (team === undefined) return { code: 'no-such-team', text };
  if (isExact && others.length === 0) return team;
  const candidates = found.map(({ id, name, plan }) => {
    return { id, name, planName: plan.planName ?? null };
  });
  return { code: 'several-teams', text, candidates };
}

async function search(query: Query, { filter, ...request }: Request): Promise<FoundTeams> {
  const { found, ...ends } = await readPage<NamedTeam, ApplicationId>({
    ...request,
    keyOf: ({ id }) => id,
    read: (cursor, isBackwards, limit) => listTeams(query, { filter, cursor, isBackwards, limit }),
  });
  return { teams: found, ...ends };
}

/** A team must match every given member. */
export type TeamFilter = {
  /**
   * A part of the name, in upper or lower case, the beginning of a customer's, a subscription's or the team's UUID, or a
   * person's whole email address.
   */
  readonly text?: string | undefined;
  readonly status?: string | undefined;
  /** The name of a plan that the team has or had, or the id of its product. */
  readonly plan?: string | undefined;
  readonly issue?: TeamIssueCode | undefined;
  /** The whole email address of a person of the team. */
  readonly email?: string | undefined;
};

type TeamList = {
  readonly filter: TeamFilter;
  /** Only teams after this one or, backwards, before it; `null`: from the first one on. */
  readonly cursor: ApplicationId | null;
  readonly isBackwards: boolean;
  readonly limit: number;
};

/** How many teams one statement examines by their ids: the application has no index for names, plans or statuses. */
const EXAMINED = 5_000;

async function listTeams(
  query: Query,
  { filter, cursor, isBackwards, limit }: TeamList,
): Promise<Examined<NamedTeam>> {
  const { text, status, plan, issue, email } = filter;
  const common = [limit, cursor, text, status, plan, issue].map((value) => value ?? null);
  type Row = { examinedTo: ApplicationId | null } & (NamedTeamRow | { id: null });
  const rows = await query<Row>({
    name: 'list_teams',
    text: (tables) => {
      const ofPerson = email === undefined ? 'true' : `id = any (${teamIdsOfEmail(tables, '$7')})`;
      return textOf(tables, { ofPerson, isBackwards });
    },
    values: email === undefined ? common : [...common, email],
  });
  const found = rows.flatMap((row) => {
    if (row.id === null) return [];
    const { examinedTo: _, ...team } = row;
    return [toNamedTeam(team)];
  });
  return { found, examinedTo: rows[0]?.examinedTo ?? null };
}

type TeamListText = { readonly ofPerson: string; readonly isBackwards: boolean };

/** Backwards, all is the same in the other order, from `$2` on. */
function textOf(tables: ApplicationTables, { ofPerson, isBackwards }: TeamListText): string {
  const { rows, idType } = tables.teams;
  const isBeyond = isBackwards
    ? `id < (select ${idFrom(idType, '$2::text')})`
    : isAfter(idType, '$2::text');
  const [order, opposite] = isBackwards ? ['desc', 'asc'] : ['asc', 'desc'];
  return `
      with examined as materialized (
        select *
          from ${rows} as teams
         where ${isBeyond}
           and ${ofPerson}
         order by id ${order}
         limit ${EXAMINED}
      ), found as (
        select ${namedTeam(tables)}
          from examined as teams ${JOIN_LOST_PLAN}
         where ${isMatch(tables)}
         order by id ${order}
         limit $1
      )
      select case
               when (select count(*) from examined) = ${EXAMINED}
                 then (select id from examined order by id ${opposite} limit 1)
             end as "examinedTo",
             found.*
        from (select) as once
        left join found on true
       order by found.id ${order}`;
}

/** The beginning of a UUID that is none of a word. */
const MIN_UUID_PREFIX = 4;

/** SQL for whether a team with its lost plan matches the text `$3`, the status `$4`, the plan `$5` and the issue `$6`. */
function isMatch(tables: ApplicationTables): string {
  const { teams } = tables;
  const hasId = `length($3) >= ${MIN_UUID_PREFIX} and starts_with(teams.id::text, lower($3))`;
  return `
             ($3::text is null
              or strpos(lower(teams.name::text), lower($3)) > 0
              or starts_with(provider_customer_id, $3)
              or starts_with(provider_subscription_id, $3)
              or ${teams.idType === 'uuid' ? hasId : 'false'})
         and ($4::text is null or ${TEAM_STATUS} = $4)
         and ($5::text is null
              or coalesce(teams.plan_name::text, lost_plan_name) = $5
              or coalesce(teams.provider_product_id::text, lost_product_id) = $5)
         and ($6::text is null ${TEAM_ISSUES.map((code) => `or $6 = '${code}' and ${hasIssue(code, tables)}`).join(' ')})`;
}
