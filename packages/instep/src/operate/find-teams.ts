import type { ApplicationId } from '../core/application.ts';
import type { Query } from '../postgres/database.ts';
import { readCustomerIdsOf } from '../postgres/statements/subscriptions.ts';
import type { OperateContext, ReadContext } from './context.ts';
import { listTeams, type TeamFilter, type TeamOrder } from './list-teams.ts';
import { type NamedTeam, readNamedTeam, readNamedTeamsOf } from './named-teams.ts';

/** The start of a page: after a team or, in the other direction, before one. */
export type TeamsStart = {
  readonly side: 'after' | 'before';
  readonly id: ApplicationId;
};

/** A page of teams. */
export type PageOfTeams = {
  readonly teams: readonly NamedTeam[];
  /** The next page starts after this team; `null` on the last page. */
  readonly after: ApplicationId | null;
  /** The previous page ends before this team; `null` on the first page. */
  readonly before: ApplicationId | null;
  /** Set when time ran out before the page was full: the search has reached this team. */
  readonly searchedTo: ApplicationId | null;
};

export type FindTeamsRequest = {
  /** Its text is also searched as an id, a customer or a subscription. All teams by default. */
  readonly filter?: TeamFilter;
  /** By id by default. */
  readonly order?: TeamOrder;
  /** The first page by default. */
  readonly start?: TeamsStart | null;
  /** 50 by default. */
  readonly limit?: number;
};

type Request = Required<FindTeamsRequest> & Pick<OperateContext, 'clockMs'>;

const BY_ID: TeamOrder = { sort: 'id', isDescending: false };
const LIMIT = 50;

/** A search stops after this time, because a person is waiting. */
const BUDGET_MS = 30;

/**
 * Finds the teams of a customer or a subscription. If there are none, finds the team with this id and those
 * that match the filter. A search of a large table takes several calls: it continues at `searchedTo`.
 *
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 * import { findTeams, openContext } from 'instep/operate';
 *
 * const handler = createHandler({ maintenance: 'off' });
 * const context = await openContext({ instep: handler });
 * const { teams, after } = await findTeams(context, { filter: { text: 'acme' }, limit: 10 });
 * console.log(teams.length, after); // 0 null
 * await handler.close();
 * ```
 */
export async function findTeams(
  { database: { query }, clockMs }: OperateContext,
  { filter = {}, order = BY_ID, start = null, limit = LIMIT }: FindTeamsRequest = {},
): Promise<PageOfTeams> {
  return await findPage(query, { filter, order, start, limit, clockMs });
}

async function findPage(query: Query, request: Request): Promise<PageOfTeams> {
  const { filter, start, limit } = request;
  const { text, ...others } = filter;
  const isTextOnly = Object.values(others).every((one) => one === undefined);
  if (text === undefined || start !== null || !isTextOnly) return await readPage(query, request);
  const { teams } = await findByCustomer(query, text, limit);
  if (teams.length > 0) return { teams, after: null, before: null, searchedTo: null };
  const byId = await readNamedTeam(query, text);
  const byName = await readPage(query, request);
  if (byId === null) return byName;
  return { ...byName, teams: [byId, ...byName.teams.filter((team) => team.id !== byId.id)] };
}

/** A customer, or the customers of a subscription, and their teams. */
export type FoundCustomers = {
  readonly customerIds: readonly string[];
  readonly teams: readonly NamedTeam[];
};

/**
 * Finds the customer with this id, or the customers of the subscription with this id, and their teams. A
 * customer is returned whether it is known or not.
 *
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 * import { findCustomers, openContext } from 'instep/operate';
 *
 * const handler = createHandler({ maintenance: 'off' });
 * const context = await openContext({ instep: handler });
 * const { teams } = await findCustomers(context, 'cus_123');
 * console.log(teams.length); // 0
 * await handler.close();
 * ```
 */
export async function findCustomers(
  { database: { query } }: OperateContext,
  id: string,
  limit = LIMIT,
): Promise<FoundCustomers> {
  return await findByCustomer(query, id, limit);
}

/**
 * The teams that have these customers now, in the order of their ids.
 *
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 * import { openContext, teamsOfCustomers } from 'instep/operate';
 *
 * const handler = createHandler({ maintenance: 'off' });
 * const context = await openContext({ instep: handler });
 * const teams = await teamsOfCustomers(context, ['cus_123', 'cus_456']);
 * console.log(teams.length); // 0
 * await handler.close();
 * ```
 */
export async function teamsOfCustomers(
  { database: { query } }: ReadContext,
  customerIds: readonly string[],
  limit = MAX_TEAMS_OF_CUSTOMERS,
): Promise<NamedTeam[]> {
  return await readNamedTeamsOf(query, customerIds, limit);
}

const MAX_TEAMS_OF_CUSTOMERS = 20_000;

async function findByCustomer(query: Query, id: string, limit: number): Promise<FoundCustomers> {
  const customerIds = [id, ...(await readCustomerIdsOf(query, id, limit))];
  return { customerIds, teams: await readNamedTeamsOf(query, customerIds, limit) };
}

/**
 * The team with this id; `null` when there is none.
 *
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 * import { openContext, readTeam } from 'instep/operate';
 *
 * const handler = createHandler({ maintenance: 'off' });
 * const context = await openContext({ instep: handler });
 * console.log(await readTeam(context, 7)); // null
 * await handler.close();
 * ```
 */
export async function readTeam(
  { database: { query } }: ReadContext,
  id: ApplicationId,
): Promise<NamedTeam | null> {
  return await readNamedTeam(query, id);
}

/**
 * All matching teams in their order, for a file. It has no time limit.
 *
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 * import { exportTeams, openContext } from 'instep/operate';
 *
 * const handler = createHandler({ maintenance: 'off' });
 * const context = await openContext({ instep: handler });
 * for await (const { id, plan } of exportTeams(context, { issue: 'out-of-sync' })) {
 *   console.log(id, plan.subscriptionStatus);
 * }
 * await handler.close();
 * ```
 */
export async function* exportTeams(
  { database: { query } }: OperateContext,
  filter: TeamFilter = {},
  order: TeamOrder = BY_ID,
): AsyncGenerator<NamedTeam> {
  // A clock that stands still sets no time limit.
  const request = { filter, order, limit: EXPORT_PAGE, clockMs: () => 0 };
  let start: TeamsStart | null = null;
  do {
    const page: PageOfTeams = await findPage(query, { ...request, start });
    yield* page.teams;
    start = page.after === null ? null : { side: 'after', id: page.after };
  } while (start !== null);
}

const EXPORT_PAGE = 1_000;

async function readPage(query: Query, request: Request): Promise<PageOfTeams> {
  const { start, limit } = request;
  const { teams, searchedTo } = await search(query, request);
  const page = teams.slice(0, limit);
  const isFull = teams.length > limit;
  if (start?.side === 'before') {
    // Return the full first page instead of a partial one.
    if (!isFull && searchedTo === null) return await readPage(query, { ...request, start: null });
    page.reverse();
    return {
      teams: page,
      after: page.at(-1)?.id ?? start.id,
      before: isFull ? (page[0]?.id ?? null) : searchedTo,
      searchedTo,
    };
  }
  return {
    teams: page,
    after: isFull ? (page.at(-1)?.id ?? null) : searchedTo,
    before: start === null ? null : (page[0]?.id ?? start.id),
    searchedTo,
  };
}

type Found = Pick<PageOfTeams, 'searchedTo'> & {
  /** One more than the page has, if there is one. */
  readonly teams: readonly NamedTeam[];
};

/** The next teams in the order, or the previous ones in reverse order. */
async function search(query: Query, request: Request): Promise<Found> {
  const { filter, start, limit, clockMs } = request;
  const isBackwards = start?.side === 'before';
  const { sort, isDescending } = request.order;
  const order = { sort, isDescending: isDescending !== isBackwards };
  const startedAtMs = clockMs();
  const teams: NamedTeam[] = [];
  for (let cursor = start?.id ?? null; ; ) {
    const wanted = limit + 1 - teams.length;
    const listed = await listTeams(query, { filter, order, cursor, limit: wanted });
    teams.push(...listed.teams);
    cursor = listed.examinedTo;
    if (teams.length > limit || cursor === null) return { teams, searchedTo: null };
    if (clockMs() - startedAtMs >= BUDGET_MS) return { teams, searchedTo: cursor };
  }
}
