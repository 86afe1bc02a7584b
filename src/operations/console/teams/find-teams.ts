import type { ApplicationId } from '../../../core/application-id.ts';
import type { Query } from '../../../postgres/database.ts';
import {
  type NamedTeam,
  readNamedTeam,
  readNamedTeams,
  readNamedTeamsOf,
  readTeamsById,
  searchTeamNames,
} from '../../../queries/named-teams.ts';
import { readCustomerIdsOf } from '../../../queries/subscriptions.ts';
import { isVisible } from '../components/text.tsx';

/** The team's name, or its id where the name is empty or invisible. */
export function teamName({ id, name }: NamedTeam): string {
  return name !== null && isVisible(name) ? name : `Team ${id}`;
}

/** The team's page. */
export function teamUrl(id: ApplicationId): string {
  return `/teams/${encodeURIComponent(id)}`;
}

/** A page of teams, ordered by id. */
export type PageOfTeams = {
  readonly teams: readonly NamedTeam[];
  /** The next page starts after this id; `null` on the last page. */
  readonly after: ApplicationId | null;
  /** Whether the search ran out of time before the page was full. */
  readonly isCutShort: boolean;
};

export type FindRequest = {
  /** An id, a customer, a subscription, or part of a name; empty: all teams. */
  readonly text: string;
  /** `null`: the first page. */
  readonly afterId: ApplicationId | null;
  readonly limit: number;
  /** In milliseconds, by a clock that is never set. */
  readonly clockMs: () => number;
};

/** A search stops after this time, because a person is waiting. */
const BUDGET_MS = 30;

/** How many names one statement compares; it takes a few milliseconds. */
const NAMES_PER_STATEMENT = 5_000;

/**
 * Finds the teams of a customer or a subscription; without any, the team with this id and those
 * with such a name.
 */
export async function findTeams(query: Query, request: FindRequest): Promise<PageOfTeams> {
  const { text, afterId, limit } = request;
  if (text === '') return await readAll(query, request);
  if (afterId !== null) return await findByName(query, request);
  const { teams } = await findByCustomer(query, text, limit);
  if (teams.length > 0) return { teams, after: null, isCutShort: false };
  const byId = await readNamedTeam(query, text);
  const byName = await findByName(query, request);
  if (byId === null) return byName;
  return { ...byName, teams: [byId, ...byName.teams.filter((team) => team.id !== byId.id)] };
}

/** Finds the customer, or those of the subscription, with this id, and their teams. */
export async function findByCustomer(query: Query, id: string, limit: number) {
  const customerIds = [id, ...(await readCustomerIdsOf(query, id, limit))];
  return { customerIds, teams: await readNamedTeamsOf(query, customerIds, limit) };
}

async function readAll(query: Query, { afterId, limit }: FindRequest): Promise<PageOfTeams> {
  const teams = await readNamedTeams(query, { afterId, limit: limit + 1 });
  const page = teams.slice(0, limit);
  const after = teams.length > limit ? (page.at(-1)?.id ?? null) : null;
  return { teams: page, after, isCutShort: false };
}

async function findByName(query: Query, request: FindRequest): Promise<PageOfTeams> {
  const { text, afterId, limit, clockMs } = request;
  const startedAtMs = clockMs();
  const ids: ApplicationId[] = [];
  let after = afterId;
  let isCutShort = false;
  do {
    const wanted = limit - ids.length;
    const search = { text, afterId: after, lookedAt: NAMES_PER_STATEMENT, limit: wanted };
    const found = await searchTeamNames(query, search);
    ids.push(...found.ids);
    const isFull = ids.length === limit;
    after = isFull ? (ids.at(-1) ?? null) : found.lastId;
    isCutShort = !isFull && after !== null && clockMs() - startedAtMs >= BUDGET_MS;
  } while (after !== null && ids.length < limit && !isCutShort);
  return { teams: await readTeamsById(query, ids), after, isCutShort };
}
