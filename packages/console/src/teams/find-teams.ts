import {
  type ApplicationId,
  listTeams,
  type NamedTeam,
  type Query,
  readCustomerIdsOf,
  readNamedTeam,
  readNamedTeamsOf,
  type TeamFilter,
  type TeamOrder,
} from 'instep/operate/inside';

/** The start of a page: after a team or, in the other direction, before one. */
export type Start = {
  readonly side: 'after' | 'before';
  readonly id: ApplicationId;
};

export type PageOfTeams = {
  readonly teams: readonly NamedTeam[];
  /** The next page starts after this team; `null` on the last page. */
  readonly after: ApplicationId | null;
  /** The previous page ends before this team; `null` on the first page. */
  readonly before: ApplicationId | null;
  /** Set when time ran out before the page was full: the search has reached this team. */
  readonly searchedTo: ApplicationId | null;
};

export type FindRequest = {
  /** Its text is also searched as an id, a customer or a subscription. */
  readonly filter: TeamFilter;
  readonly order: TeamOrder;
  /** `null`: the first page. */
  readonly start: Start | null;
  readonly limit: number;
  /** A monotonic clock, in milliseconds. */
  readonly clockMs: () => number;
};

/** A search stops after this time, because a person is waiting. */
const BUDGET_MS = 30;

/**
 * Finds the teams of a customer or a subscription. If there are none, finds the team with this id and those
 * that match the filter.
 */
export async function findTeams(query: Query, request: FindRequest): Promise<PageOfTeams> {
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

/** Finds the customer, or those of the subscription, with this id, and their teams. */
export async function findByCustomer(query: Query, id: string, limit: number) {
  const customerIds = [id, ...(await readCustomerIdsOf(query, id, limit))];
  return { customerIds, teams: await readNamedTeamsOf(query, customerIds, limit) };
}

async function readPage(query: Query, request: FindRequest): Promise<PageOfTeams> {
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
async function search(query: Query, request: FindRequest): Promise<Found> {
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
