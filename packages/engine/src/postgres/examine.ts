// Reads a table in parts, so that no statement takes longer the larger the table is: for the jobs of maintenance, and for
// the operators' lists.

import type { ApplicationId } from './application.ts';
import { onlyRow, type Query } from './statement.ts';
import type { ApplicationTables } from './tables/application-tables.ts';

/** What a statement has found among the next rows in an order, whose number is limited whether or not they match. */
export type Examined<Found, Key = ApplicationId> = {
  readonly found: readonly Found[];
  /** The last row that was examined; `null`: none are left. */
  readonly examinedTo: Key | null;
};

/** Which customers a job reads next, of those that it has to repair. */
export type DuePage = {
  /** `null`: the first page. */
  readonly afterId: ApplicationId | null;
  readonly limit: number;
  /** Those whose repair failed lately. */
  readonly exceptIds: readonly string[];
};

/** How many rows one statement examines; it takes some milliseconds. */
const EXAMINED = 5_000;

export type Search = {
  readonly name: string;
  /** SQL for the rows whose `key` is after `$1`. */
  readonly rows: (tables: ApplicationTables) => string;
  readonly key: string;
  /** SQL for the customers that are due, of the rows of `examined`: not those of `$2`, and at most `$3`. */
  readonly due: (tables: ApplicationTables) => string;
};

/** Finds the customers that are due among the next rows. The next search continues after them. */
export async function findCustomers(
  query: Query,
  { name, rows, key, due }: Search,
  { afterId, exceptIds, limit }: DuePage,
): Promise<Examined<string>> {
  return await onlyRow<Examined<string>>(query, {
    name,
    // The planner knows how many rows are examined.
    text: (tables) => `
      with examined as materialized (${rows(tables)}
         order by ${key}
         limit ${EXAMINED}
      )
      select array(${due(tables)}
             ) as found,
             (select ${key} from examined order by ${key} offset ${EXAMINED - 1}) as "examinedTo"`,
    values: [afterId, exceptIds, limit],
  });
}

/** The rows that statements find in all pages, from the first one on. */
export async function* pagesOf<Found, Key>(
  read: (after: Key | null) => Promise<Examined<Found, Key>>,
): AsyncGenerator<readonly Found[]> {
  let after: Key | null = null;
  do {
    const page: Examined<Found, Key> = await read(after);
    yield page.found;
    after = page.examinedTo;
  } while (after !== null);
}

/** The same rows, one by one. */
export async function* rowsOf<Found, Key>(
  read: (after: Key | null) => Promise<Examined<Found, Key>>,
): AsyncGenerator<Found> {
  for await (const page of pagesOf(read)) yield* page;
}
