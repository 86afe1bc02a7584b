// The one way in which lists are read, page by page, forward and back, or whole: all finders return a `Search`.

import type { ApplicationId, Examined } from 'instep-engine/postgres';

/** What matches a filter. Nothing is read before one of these is called. */
export type Search<Row, Key> = {
  page(request?: PageRequest<Key>): Promise<Page<Row, Key>>;
  /** All rows, for a file. */
  all(): AsyncGenerator<Row>;
};

export type PageRequest<Key> = {
  /** The first page by default. */
  readonly start?: PageStart<Key> | null;
  /** 50 by default. */
  readonly limit?: number;
};

/** Where a page of a list starts: after a row or, to go back, before one. */
export type PageStart<Key> = { readonly side: 'after' | 'before'; readonly key: Key };

export type Page<Row, Key> = PageEnds<Key> & { readonly rows: readonly Row[] };

/** How a list goes on beside a page. */
export type PageEnds<Key> = {
  /** The next page starts after this row; `null` on the last page. */
  readonly next: Key | null;
  /** The previous page ends before this row; `null` on the first page. */
  readonly previous: Key | null;
  /** Set when time ran out before the page was full: the search has reached this row. */
  readonly searchedTo: Key | null;
};

/** What a statement examines: up to `limit` rows after `from`, or those before it, nearest first. */
export type Part<Key> = {
  /** `null`: from the end of the list. */
  readonly from: Key | null;
  readonly isBackwards: boolean;
  readonly limit: number;
};

type List<Row, Key> = {
  readonly keyOf: (row: Row) => Key;
  readonly read: (part: Part<Key>) => Promise<Examined<Row, Key>>;
};

/** A search stops after this time, because a person is waiting. */
const PAGE_MS = 30;

const READ_AT_ONCE = 500;

export function searchOf<Row, Key extends ApplicationId>(list: List<Row, Key>): Search<Row, Key> {
  return {
    page: ({ start = null, limit = 50 } = {}) => readPage(list, start, limit),
    async *all() {
      let start: PageStart<Key> | null = null;
      do {
        const page: Page<Row, Key> = await readPage(list, start, READ_AT_ONCE);
        yield* page.rows;
        start = page.next === null ? null : { side: 'after', key: page.next };
      } while (start !== null);
    },
  };
}

/** Reads a page of a list, in parts until it is full or time runs out. */
async function readPage<Row, Key extends ApplicationId>(
  list: List<Row, Key>,
  start: PageStart<Key> | null,
  limit: number,
): Promise<Page<Row, Key>> {
  const { keyOf, read } = list;
  const isBackwards = start?.side === 'before';
  const startedAtMs = performance.now();
  const found: Row[] = [];
  let examinedTo = start?.key ?? null;
  do {
    // One more than the page has shows that there is another page.
    const missing = limit + 1 - found.length;
    const part = await read({ from: examinedTo, isBackwards, limit: missing });
    found.push(...part.found);
    examinedTo = part.examinedTo;
  } while (
    found.length <= limit &&
    examinedTo !== null &&
    performance.now() - startedAtMs < PAGE_MS
  );
  const rows = found.slice(0, limit);
  const [nearest, farthest] = [rows[0], rows.at(-1)];
  const isFull = found.length > limit && farthest !== undefined;
  const searchedTo = isFull ? null : examinedTo;
  const onward = isFull ? keyOf(farthest) : searchedTo;
  if (!isBackwards) {
    const previous = nearest === undefined ? (searchedTo ?? start?.key) : keyOf(nearest);
    return { rows, next: onward, previous: start && (previous ?? null), searchedTo };
  }
  // The full first page instead of a partial one.
  if (onward === null) return await readPage(list, null, limit);
  const next = nearest === undefined ? searchedTo : keyOf(nearest);
  return { rows: rows.reverse(), next, previous: onward, searchedTo };
}
