// Finds teams by a filter, in any order, without reading all of a large table: `findTeams`, and `findCustomers`,
// which can also ask Stripe. The console's lists and search call it, `instep team list`, and actions.ts for a
// team's name.

import { ConfigInvalid } from '../config/config.ts';
import type { ApplicationId } from '../core/application.ts';
import { HAS_ISSUE, type TeamIssueCode } from '../health/issues.ts';
import { limitRate } from '../maintenance/stripe-calls.ts';
import { FILTER_VALUES } from '../maintenance/team-counts.ts';
import type { Query } from '../postgres/database.ts';
import { type Examined, type PageEnds, type PageStart, readPage } from '../postgres/examine.ts';
import { onlyRow } from '../postgres/statement.ts';
import {
  allTeamsWithLostPlans,
  JOIN_LOST_PLAN,
  readCustomerIdsOf,
} from '../postgres/statements/subscriptions.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { idFrom } from '../postgres/tables/id-from-text.ts';
import { DeadlineExceeded } from '../runtime/deadline.ts';
import type { InstepErrorCode } from '../runtime/errors.ts';
import { Stopped } from '../runtime/retry.ts';
import { idOf } from '../stripe/api.ts';
import { StripeApiFailed } from '../stripe/api-failure.ts';
import type { OperateContext, PageRequest, Search } from './context.ts';
import { teamIdsOfEmail } from './members.ts';
import {
  DUE_SINCE,
  NAMED_TEAM,
  type NamedTeam,
  type NamedTeamRow,
  readNamedTeam,
  readNamedTeamsOf,
  teamsOfOwed,
  toNamedTeam,
} from './named-teams.ts';

/** A page of teams. Its ends are ids. */
export type PageOfTeams = PageEnds<ApplicationId> & { readonly teams: readonly NamedTeam[] };

type Request = Required<PageRequest<PageStart<ApplicationId>>> &
  Pick<OperateContext, 'clockMs'> & { readonly filter: TeamFilter; readonly order: TeamOrder };

const BY_ID: TeamOrder = { sort: 'id', isDescending: false };
const LIMIT = 50;

/**
 * The teams that match a filter, by id by default. Its text is also searched as an id, a customer or a subscription: if
 * a customer or a subscription has this id, its teams are found, and otherwise the team with this id and those that
 * match. A page of a large table takes several calls: it continues at `searchedTo`. All rows have no time limit.
 *
 * @throws InstepError: `MEMBERS_UNKNOWN` for an email address, if no table says which users belong to which teams
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
  order: TeamOrder = BY_ID,
): Search<NamedTeam, PageOfTeams, PageStart<ApplicationId>> {
  return {
    page: ({ start = null, limit = LIMIT } = {}) =>
      findPage(query, { filter, order, start, limit, clockMs }),
    async *all() {
      // A clock that stands still sets no time limit.
      const request = { filter, order, limit: EXPORT_PAGE, clockMs: () => 0 };
      let start: PageStart<ApplicationId> | null = null;
      do {
        const { teams, next }: PageOfTeams = await findPage(query, { ...request, start });
        yield* teams;
        start = next === null ? null : { side: 'after', key: next };
      } while (start !== null);
    },
  };
}

const EXPORT_PAGE = 1_000;

async function findPage(query: Query, request: Request): Promise<PageOfTeams> {
  const { filter, start, limit } = request;
  const { text, ...others } = filter;
  const isTextOnly = Object.values(others).every((one) => one === undefined);
  if (text === undefined || start !== null || !isTextOnly) return await search(query, request);
  const { teams } = await findByCustomer(query, text, limit);
  if (teams.length > 0) return { teams, next: null, previous: null, searchedTo: null };
  const byId = await readNamedTeam(query, text);
  const byName = await search(query, request);
  if (byId === null) return byName;
  return { ...byName, teams: [byId, ...byName.teams.filter((team) => team.id !== byId.id)] };
}

/** Customers, and the teams that have one of them. */
export type FoundCustomers = {
  readonly customerIds: readonly string[];
  readonly teams: readonly NamedTeam[];
  /** Why Stripe could not be asked: `CONFIG_INVALID` without an API key; `null`: it answered, or was not to be asked. */
  readonly error: InstepErrorCode | null;
};

/**
 * Finds customers and their teams: the customer with an id, which is returned whether it is known or not; the customers
 * of the subscription with this id; or those that Stripe has with exactly an email address, in upper and lower case as
 * Stripe has it: the newest 100. The address is not logged.
 *
 * @example
 * ```ts
 * const { teams } = await findCustomers(context, { id: 'cus_123' });
 * const { customerIds, error } = await findCustomers(context, { email: 'ada@example.com' });
 * console.log(teams.length, customerIds.length, error); // 0 0 STRIPE_API_FAILED
 * ```
 */
export async function findCustomers(
  { api, database: { query }, logger }: OperateContext,
  by: { readonly id: string } | { readonly email: string },
  limit = LIMIT,
): Promise<FoundCustomers> {
  if ('id' in by) return await findByCustomer(query, by.id, limit);
  const signal = AbortSignal.timeout(DEADLINE_MS);
  try {
    const { listCustomers } = limitRate(api, query);
    const { objects } = await listCustomers({ cursor: null, email: by.email }, signal);
    const customerIds = objects.flatMap((one) => idOf(one) ?? []);
    return { customerIds, teams: await readNamedTeamsOf(query, customerIds), error: null };
  } catch (err) {
    const isOfCall = err instanceof DeadlineExceeded || err instanceof Stopped;
    if (!(isOfCall || err instanceof StripeApiFailed || err instanceof ConfigInvalid)) throw err;
    logger.warn({ err }, 'search for a customer at Stripe failed');
    const isForbidden = err instanceof StripeApiFailed && err.isForbidden;
    const code = signal.aborted ? 'DEADLINE_EXCEEDED' : err.code;
    return { customerIds: [], teams: [], error: isForbidden ? 'STRIPE_KEY_FORBIDDEN' : code };
  }
}

/** Shorter than the deadline of a request, which also reads the customers. */
const DEADLINE_MS = 5_000;

async function findByCustomer(query: Query, id: string, limit: number): Promise<FoundCustomers> {
  const customerIds = [id, ...(await readCustomerIdsOf(query, id, limit))];
  return { customerIds, teams: await readNamedTeamsOf(query, customerIds, limit), error: null };
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

async function search(query: Query, { filter, order, ...request }: Request): Promise<PageOfTeams> {
  const { found, ...ends } = await readPage<NamedTeam, ApplicationId>({
    ...request,
    keyOf: ({ id }) => id,
    read: (cursor, isBackwards, limit) => {
      const isDescending = order.isDescending !== isBackwards;
      return listTeams(query, { filter, order: { ...order, isDescending }, cursor, limit });
    },
  });
  return { teams: found, ...ends };
}

/**
 * How many subscriptions have been unpaid or past due since before a time, in milliseconds since 1970; at most `most`
 * are counted. There are no more teams with the filter `dueBeforeMs`.
 *
 * @example
 * ```ts
 * console.log(await countDue(context, 1_767_225_600_000, 100)); // 0
 * ```
 */
export async function countDue(
  { database: { query } }: OperateContext,
  dueBeforeMs: number,
  most: number,
): Promise<number> {
  const row = await onlyRow<{ count: number }>(query, {
    name: 'count_due',
    text: `
      select count(*)
        from (select from instep.subscriptions where due_since < $1 limit $2) as due`,
    values: [new Date(dueBeforeMs), most],
  });
  return row.count;
}

/** A value, or several, of which a team must have one. */
export type OneOf<Value> = Value | readonly Value[];

/** A team must match every given member. */
export type TeamFilter = {
  /** A part of the name, in upper or lower case, or the beginning of a customer's, a subscription's or the team's UUID. */
  readonly text?: string | undefined;
  readonly status?: OneOf<string> | undefined;
  /** A plan or product that the team has or had. */
  readonly plan?: OneOf<string> | undefined;
  readonly product?: OneOf<string> | undefined;
  readonly issue?: OneOf<TeamIssueCode> | undefined;
  /** Unpaid or past due since before this time, in milliseconds since 1970. */
  readonly dueBeforeMs?: number | undefined;
  /** The whole email address of a person of the team. */
  readonly email?: string | undefined;
};

/** By what a list of teams can be sorted. Teams with the same value are ordered by id. */
export const TEAM_SORTS = ['id', 'name', 'status', 'plan', 'customer', 'due'] as const;

export type TeamSort = (typeof TEAM_SORTS)[number];

/** As SQL that is never null. */
const SORT_KEYS: Readonly<Record<Exclude<TeamSort, 'id'>, string>> = {
  name: "lower(coalesce(teams.name::text, ''))",
  status: "coalesce(teams.subscription_status::text, '')",
  plan: `lower(coalesce(${FILTER_VALUES.plan}, ''))`,
  customer: "coalesce(teams.provider_customer_id::text, '')",
  /** Teams that are not due come last. */
  due: `coalesce(${DUE_SINCE}, 'infinity')`,
};

export type TeamOrder = { readonly sort: TeamSort; readonly isDescending: boolean };

type TeamList = {
  readonly filter: TeamFilter;
  readonly order: TeamOrder;
  /** Only teams that come after this one in the order; `null`: all. */
  readonly cursor: ApplicationId | null;
  readonly limit: number;
};

/** How many teams, or due payments, one statement examines along an index; it takes some milliseconds. */
const EXAMINED = { id: 5_000, due: 500 } as const;

/**
 * Lists teams. The application has no index for names, plans or statuses, so one statement examines a part of
 * the table in the order of ids, or of due payments, or all of it in another order.
 */
async function listTeams(
  query: Query,
  list: TeamList,
  mostDue?: number,
): Promise<Examined<NamedTeam>> {
  const { filter, order, cursor, limit } = list;
  const values: unknown[] = [limit];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const conditions = conditionsOf(filter, parameter);
  const { dueBeforeMs } = filter;
  const dueBefore =
    dueBeforeMs === undefined ? null : `${parameter(new Date(dueBeforeMs))}::timestamptz`;
  const text = filter.text === undefined ? null : parameter(filter.text);
  const email = filter.email === undefined ? null : parameter(filter.email);
  const cursorText = cursor === null ? null : parameter(cursor);
  // Joined for the teams of the page only, unless the plan decides which they are.
  const needsPlan =
    order.sort === 'plan' || filter.plan !== undefined || filter.product !== undefined;
  const examined = order.sort === 'due' ? (mostDue ?? EXAMINED.due) : EXAMINED.id;
  type Row = { isLast: boolean; examinedTo: ApplicationId | null; number: number };
  const rows = await query<Row & (NamedTeamRow | { id: null })>({
    name: 'list_teams',
    text: (tables) => {
      const all = [...conditions, ...(text === null ? [] : [hasText(tables, text)])];
      const parts = { conditions: all, cursor: cursorText, needsPlan, email, dueBefore, examined };
      return textOf(tables, order, parts);
    },
    values,
  });
  const { isLast = true, examinedTo = null } = rows[0] ?? {};
  // None of the due payments was a team's.
  if (!isLast && examinedTo === null) return await listTeams(query, list, examined * 10);
  const found = rows.flatMap((row) => {
    if (row.id === null) return [];
    const { isLast: _, examinedTo: __, number: ___, ...team } = row;
    return [toNamedTeam(team)];
  });
  return { found, examinedTo };
}

/** Parts of the statement below; most are the name of a parameter, or `null` if the filter or the request has none. */
type ListParts = {
  readonly conditions: readonly string[];
  /** The parameter of the cursor. */
  readonly cursor: string | null;
  /** Whether the order or a condition depends on the plan that a team had. */
  readonly needsPlan: boolean;
  /** The parameter of the email address. */
  readonly email: string | null;
  /** The parameter of the time before which a payment was due. */
  readonly dueBefore: string | null;
  /** How many teams or due payments are examined if the order has an index. */
  readonly examined: number;
};

/**
 * The statement that lists teams. It reads the teams to examine, finds those that match among them, the page, and adds
 * their names and lost plans; one row of it also says which team was examined last. It examines, in this order:
 *
 * - by id: the next 5,000 teams;
 * - by due date, with a filter for it: the teams of the next 500 due payments (`owed`);
 * - in another order, with this filter: the teams of all due payments;
 * - in another order: all teams. Then, `examined` is not used.
 */
function textOf(
  tables: ApplicationTables,
  { sort, isDescending }: TeamOrder,
  { conditions, cursor, needsPlan, email, dueBefore, examined }: ListParts,
): string {
  const { idType, rows } = tables.teams;
  const [direction, opposite] = isDescending ? ['desc', 'asc'] : ['asc', 'desc'];
  const beyond = isDescending ? '<' : '>';
  const isFromDue = dueBefore !== null && sort !== 'id';
  const hasIndex = sort === 'id' || (sort === 'due' && isFromDue);
  const sortKeys = sort === 'id' ? [] : [SORT_KEYS[sort]];
  // The teams of due payments have the date in a column.
  const keys = [...(isFromDue && sort === 'due' ? ['teams.due_since'] : sortKeys), 'teams.id'];
  const orderBy = keys.map((key) => `${key} ${direction}`).join(', ');
  // The values of the cursor's team, because an order can depend on more than its id.
  const ofCursor = (values: readonly string[]) => `(
                 select ${values.join(', ')}
                   from ${rows} as teams ${JOIN_LOST_PLAN}
                  where teams.id = ${idFrom(idType, `${cursor}::text`)}
               )`;
  const beyondCursor =
    cursor === null
      ? []
      : [`(${keys.join(', ')}) ${beyond} ${ofCursor([...sortKeys, 'teams.id'])}`];
  const ofPerson = email === null ? [] : [`teams.id = any (${teamIdsOfEmail(tables, email)})`];
  const due = dueBefore === null || isFromDue ? [] : [`${DUE_SINCE} < ${dueBefore}`];
  const owed = `
      owed as materialized (
        select customer_id, subscription_id, due_since
          from instep.subscriptions
         where due_since < ${dueBefore}
           ${hasIndex && cursor !== null ? `and due_since ${beyond}= ${ofCursor(sortKeys)}` : ''}
         order by due_since ${direction}
         ${hasIndex ? `fetch first ${examined} rows with ties` : ''}
      ),`;
  const ofId = `
        select *
          from ${rows} as teams
         ${whereOf([...ofPerson, ...beyondCursor])}
         order by ${orderBy}
         limit ${examined}`;
  const ofDue = `
        select *
          from (${teamsOfOwed(tables)}
               ) as teams
         ${whereOf([...ofPerson, ...(hasIndex ? beyondCursor : [])])}`;
  const source = isFromDue || hasIndex ? 'examined as teams' : `${rows} as teams`;
  const hasPlan = needsPlan && !isFromDue && !hasIndex;
  const all = hasPlan
    ? allTeamsWithLostPlans(tables)
    : `${source} ${needsPlan ? JOIN_LOST_PLAN : ''}`;
  return `
      with ${isFromDue ? owed : ''}
      examined as materialized (${isFromDue ? ofDue : hasIndex ? ofId : 'select'}
      ), page as materialized (
        select teams.*
          from ${all}
         ${whereOf([...conditions, ...due, ...(hasIndex ? [] : [...ofPerson, ...beyondCursor])])}
         order by ${orderBy}
         limit $1
      ), found as (
        select row_number() over (order by ${orderBy}) as number, ${NAMED_TEAM}
          from page as teams ${hasPlan ? '' : JOIN_LOST_PLAN}
      )
      select "isLast",
             ${hasIndex ? `case when not "isLast" then (select id from examined as teams order by ${keys.map((key) => `${key} ${opposite}`).join(', ')} limit 1) end` : 'null'} as "examinedTo",
             found.*
        from (
               select ${hasIndex ? `(select count(*) from ${isFromDue ? 'owed' : 'examined'}) < ${examined}` : 'true'} as "isLast"
             ) as once
        left join found on true
       order by number`;
}

const whereOf = (conditions: readonly string[]) =>
  conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;

/** The beginning of a UUID that is none of a word. */
const MIN_UUID_PREFIX = 4;

function hasText({ teams }: ApplicationTables, text: string): string {
  const isId = `starts_with(teams.id::text, lower(${text})) and length(${text}) >= ${MIN_UUID_PREFIX}`;
  return `(strpos(lower(teams.name::text), lower(${text})) > 0
                 or starts_with(provider_customer_id, ${text})
                 or starts_with(provider_subscription_id, ${text})
                 or ${teams.idType === 'uuid' ? isId : 'false'})`;
}

function conditionsOf(
  { status, plan, product, issue }: TeamFilter,
  parameter: (value: unknown) => string,
): string[] {
  const anyOf = (column: string, values: OneOf<string> | undefined) =>
    values === undefined ? [] : [`${column} = any (${parameter([values].flat())}::text[])`];
  return [
    ...anyOf(FILTER_VALUES.status, status),
    ...anyOf(FILTER_VALUES.plan, plan),
    ...anyOf(FILTER_VALUES.product, product),
    ...(issue === undefined ? [] : [hasOneOf([issue].flat())]),
  ];
}

const hasOneOf = (issues: readonly TeamIssueCode[]) =>
  `(${issues.map((issue) => HAS_ISSUE[issue]).join(' or ') || 'false'})`;
