import type { Query } from '../../database/database.ts';
import {
  type NamedTeam,
  readNamedTeam,
  readNamedTeamsOf,
  readTeamsById,
  searchTeamNames,
} from '../../store/named-teams.ts';
import { readCustomerIdsOf } from '../../store/subscriptions.ts';
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

/** The teams that a person may mean: those that an id names exactly, then those of such a name. */
export async function findTeams(query: Query, request: FindRequest): Promise<PageOfTeams> {
  const { text, afterId, limit } = request;
  const exact = afterId === 0 ? await findExactly(query, text, limit) : [];
  const exactIds = new Set(exact.map(({ id }) => id));
  const { ids, ...rest } = await findByName(query, request);
  const others = await readTeamsById(
    query,
    ids.filter((id) => !exactIds.has(id)),
  );
  return { ...rest, teams: [...exact, ...others] };
}

async function findExactly(query: Query, text: string, limit: number): Promise<NamedTeam[]> {
  const id = queryNumber(text);
  const byId = id === null ? null : await readNamedTeam(query, id);
  const customerIds = await readCustomerIdsOf(query, text, limit);
  const byCustomer = await readNamedTeamsOf(query, [text, ...customerIds], limit);
  return [...(byId === null ? [] : [byId]), ...byCustomer.filter((team) => team.id !== byId?.id)];
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
