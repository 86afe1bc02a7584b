// The one way in which lists have pages, forward and back: findTeams, findEvents and findActions use it.

import type { ApplicationId, Examined } from 'instep-engine/postgres';

/** Where a page of a list starts: after a row or, to go back, before one. */
export type PageStart<Key> = { readonly side: 'after' | 'before'; readonly key: Key };

/** How a list goes on beside a page. */
export type PageEnds<Key> = {
  /** The next page starts after this row; `null` on the last page. */
  readonly next: Key | null;
  /** The previous page ends before this row; `null` on the first page. */
  readonly previous: Key | null;
  /** Set when time ran out before the page was full: the search has reached this row. */
  readonly searchedTo: Key | null;
};

type List<Found, Key> = {
  readonly start: PageStart<Key> | null;
  readonly limit: number;
  readonly clockMs: () => number;
  readonly keyOf: (found: Found) => Key;
  /** Examines some rows after one, or backwards before one, in that order; `null`: from the end of the list. */
  readonly read: (
    from: Key | null,
    isBackwards: boolean,
    limit: number,
  ) => Promise<Examined<Found, Key>>;
};

/** A search stops after this time, because a person is waiting. */
const PAGE_MS = 30;

/** Reads a page of a list, in parts until it is full or time runs out. */
export async function readPage<Found, Key extends ApplicationId>(
  list: List<Found, Key>,
): Promise<PageEnds<Key> & Pick<Examined<Found, Key>, 'found'>> {
  const { start, limit, clockMs, keyOf, read } = list;
  const isBackwards = start?.side === 'before';
  const startedAtMs = clockMs();
  const found: Found[] = [];
  let examinedTo = start?.key ?? null;
  do {
    // One more than the page has shows that there is another page.
    const part = await read(examinedTo, isBackwards, limit + 1 - found.length);
    found.push(...part.found);
    examinedTo = part.examinedTo;
  } while (found.length <= limit && examinedTo !== null && clockMs() - startedAtMs < PAGE_MS);
  const page = found.slice(0, limit);
  const [nearest, farthest] = [page[0], page.at(-1)];
  const isFull = found.length > limit && farthest !== undefined;
  const searchedTo = isFull ? null : examinedTo;
  const onward = isFull ? keyOf(farthest) : searchedTo;
  if (!isBackwards) {
    const previous = nearest === undefined ? (searchedTo ?? start?.key) : keyOf(nearest);
    return { found: page, next: onward, previous: start && (previous ?? null), searchedTo };
  }
  // The full first page instead of a partial one.
  if (onward === null) return await readPage({ ...list, start: null });
  const next = nearest === undefined ? searchedTo : keyOf(nearest);
  return { found: page.reverse(), next, previous: onward, searchedTo };
}
