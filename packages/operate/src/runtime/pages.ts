// The one way in which lists are read, page by page, forward and back, or whole: all finders return a `Search`.

import type { ApplicationId, ApplicationTables, Examined, Query } from 'instep-engine/postgres';

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

/** What a statement examines: the rows after `from`, or those before it, nearest first. It returns up to `limit`. */
export type Part<Key> = {
  /** `null`: from the end of the list. */
  readonly from: Key | null;
  readonly limit: number;
};

/** SQL: which rows are beyond a key, and their order. */
export type Direction = { readonly beyond: '<' | '>'; readonly order: 'asc' | 'desc' };

const ASCENDING = { beyond: '>', order: 'asc' } as const;
const DESCENDING = { beyond: '<', order: 'desc' } as const;

/** What tells how far a statement has come that examines a limited number of rows; `null`: to the end of the list. */
export type ExaminedTo<Key> = { readonly examinedTo?: Key | null };

type List<Stored, Row, Key> = {
  readonly name: string;
  /**
   * The whole statement. If it examines a limited number of rows, each row that it returns says how far it has come; if it has
   * found none, a row does that has no key.
   */
  readonly text: (tables: ApplicationTables, direction: Direction) => string;
  readonly values: (part: Part<Key>) => readonly unknown[];
  /** The first page has the largest keys. */
  readonly isDescending?: boolean;
  readonly keyOf: (row: Stored | Row) => Key | null;
  /** What it makes of the rows that were read. Those can have been deleted meanwhile. */
  readonly complete: (stored: readonly Stored[]) => readonly Row[] | Promise<readonly Row[]>;
};

/** How many rows a statement examines that no index helps to find those that match: it takes some milliseconds. */
export const EXAMINED = 5_000;

/** A search stops after this time, because a person is waiting. */
const PAGE_MS = 30;

const READ_AT_ONCE = 500;

/** The rows that a statement finds. */
export function searchOf<Stored extends object, Row, Key extends ApplicationId>(
  query: Query,
  { name, text, values, isDescending = false, keyOf, complete }: List<Stored, Row, Key>,
): Search<Row, Key> {
  async function read(part: Part<Key>, isBackwards: boolean): Promise<Examined<Row, Key>> {
    const direction = isBackwards === isDescending ? ASCENDING : DESCENDING;
    const rows = await query<Stored & ExaminedTo<Key>>({
      name,
      text: (tables) => text(tables, direction),
      values: values(part),
    });
    const stored = rows.filter((row) => keyOf(row) !== null);
    const last = stored.length < part.limit ? undefined : stored.at(-1);
    return {
      found: await complete(stored),
      examinedTo: (last === undefined ? rows[0]?.examinedTo : keyOf(last)) ?? null,
    };
  }

  /** In parts, until the page is full or time runs out. */
  async function page({
    start = null,
    limit = 50,
  }: PageRequest<Key> = {}): Promise<Page<Row, Key>> {
    const isBackwards = start?.side === 'before';
    const startedAtMs = performance.now();
    const found: Row[] = [];
    let examinedTo = start?.key ?? null;
    do {
      // One more than the page has shows that there is another page.
      const part = await read({ from: examinedTo, limit: limit + 1 - found.length }, isBackwards);
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
    if (onward === null) return await page({ limit });
    const next = nearest === undefined ? searchedTo : keyOf(nearest);
    return { rows: rows.reverse(), next, previous: onward, searchedTo };
  }

  async function* all() {
    let start: PageStart<Key> | null = null;
    do {
      const { rows, next }: Page<Row, Key> = await page({ start, limit: READ_AT_ONCE });
      yield* rows;
      start = next === null ? null : { side: 'after', key: next };
    } while (start !== null);
  }

  return { page, all };
}
