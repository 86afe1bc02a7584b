import type { Query } from '../../../postgres/database.ts';
import {
  type NamedTeam,
  readNamedTeam,
  readNamedTeamsOf,
  readTeamsById,
  searchTeamNames,
} from '../../../queries/named-teams.ts';
import { readCustomerIdsOf } from '../../../queries/subscriptions.ts';
import { queryNumber } from '../query-text.ts';

/** A page of teams, in the order of their ids. */
export type PageOfTeams = {
  readonly teams: readonly NamedTeam[];
  /** The next page holds what stands after this id; `null` when nothing does. */
  readonly after: number | null;
  /** Whether the time was over before the page was full. */
  readonly isCutShort: boolean;
};

export type FindRequest = {
  /** An id, a customer, a subscription, or a part of a name. */
  readonly text: string;
  readonly afterId: number;
  readonly limit: number;
  /** In milliseconds since 1970. */
  readonly now: () => number;
};

/** After so long no more names are looked at: somebody waits. */
const BUDGET_MS = 30;

/** So many names are looked at in one statement, which takes some milliseconds. */
const STRETCH = 5_000;

/**
 * The teams that a person may mean: those of a customer or of a subscription; otherwise the one of an
 * id, and those of such a name.
 */
export async function findTeams(query: Query, request: FindRequest): Promise<PageOfTeams> {
  const { text, afterId, limit } = request;
  const ofCustomer = afterId === 0 ? await findByCustomer(query, text, limit) : [];
  if (ofCustomer.length > 0) return { teams: ofCustomer, after: null, isCutShort: false };
  const id = afterId === 0 ? queryNumber(text) : null;
  const byId = id === null ? null : await readNamedTeam(query, id);
  const { ids, ...rest } = await findByName(query, request);
  const byName = await readTeamsById(
    query,
    ids.filter((found) => found !== byId?.id),
  );
  return { ...rest, teams: [...(byId === null ? [] : [byId]), ...byName] };
}

async function findByCustomer(query: Query, text: string, limit: number): Promise<NamedTeam[]> {
  const customerIds = await readCustomerIdsOf(query, text, limit);
  return await readNamedTeamsOf(query, [text, ...customerIds], limit);
}

async function findByName(
  query: Query,
  { text, afterId, limit, now }: FindRequest,
): Promise<{ ids: number[]; after: number | null; isCutShort: boolean }> {
  const startedAtMs = now();
  const ids: number[] = [];
  for (let after = afterId; ; ) {
    const wanted = limit - ids.length;
    const stretch = { text, afterId: after, lookedAt: STRETCH, limit: wanted };
    const found = await searchTeamNames(query, stretch);
    ids.push(...found.ids);
    if (found.ids.length === wanted) return { ids, after: ids.at(-1) ?? null, isCutShort: false };
    if (found.lastId === null) return { ids, after: null, isCutShort: false };
    after = found.lastId;
    if (now() - startedAtMs >= BUDGET_MS) return { ids, after, isCutShort: true };
  }
}
