// Reads a table in parts, so that no statement takes longer the larger the table is: for the sweeps of maintenance, and for
// the operators' lists.

import type { ApplicationId } from './application.ts';
import type { Query } from './database.ts';
import type { ApplicationTables } from './tables/application-tables.ts';
import { isAfter } from './tables/id-from-text.ts';

/** What a statement has found among the next rows in an order, whose number is limited whether or not they match. */
export type Examined<Found, Key = ApplicationId> = {
  readonly found: readonly Found[];
  /** The last row that was examined; `null`: none are left. */
  readonly examinedTo: Key | null;
};

type Examination = {
  readonly name: string;
  /**
   * SQL for the rows to examine, in the order of a key, and not many more than `limit`. That is a part of the text, so that
   * the planner knows it.
   */
  readonly examined: (tables: ApplicationTables) => string;
  readonly key: string;
  readonly limit: number;
  /** SQL for `found`, of the rows of `examined`, and for what it needs before that. */
  readonly found: (tables: ApplicationTables) => string;
  readonly values: readonly unknown[];
};

/**
 * Runs a statement on some rows in place of all. So its time does not grow with the table, however few rows match: the
 * next one continues after them.
 */
export async function examine<Found extends object, Key>(
  query: Query,
  { name, examined, key, limit, found, values }: Examination,
): Promise<Examined<Found, Key>> {
  type Row = { isFound: true | null; examinedTo: Key | null };
  const rows = await query<Row & Found>({
    name,
    text: (tables) => `
      with examined as materialized (${examined(tables)}
      ), ${found(tables)}
      select found.*,
             case
               when (select count(*) from examined) >= ${limit}
                 then (select ${key} from examined order by ${key} desc limit 1)
             end as "examinedTo"
        from (select) as once
        left join (select true as "isFound", * from found) as found on true`,
    values,
  });
  return {
    found: rows.flatMap(({ isFound, examinedTo: _, ...row }) => (isFound ? [row as Found] : [])),
    examinedTo: rows[0]?.examinedTo ?? null,
  };
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

/** How many teams one statement examines; it takes some milliseconds. */
const TEAMS = 5_000;

type TeamsExamination = Pick<Examination, 'name' | 'found'> & {
  /** `null`: from the first team. */
  readonly afterId: ApplicationId | null;
  /** The parameters of `found`, from `$2`. */
  readonly values?: readonly unknown[];
  readonly limit?: number | undefined;
};

/** Examines the teams after an id, in the order of their ids. */
export async function examineTeams<Found extends object>(
  query: Query,
  { afterId, values = [], limit = TEAMS, ...statement }: TeamsExamination,
): Promise<Examined<Found>> {
  return await examine<Found, ApplicationId>(query, {
    ...statement,
    examined: ({ teams }) => `
        select *
          from ${teams.rows} as teams
         where ${isAfter(teams.idType, '$1::text')}
         order by id
         limit ${limit}`,
    key: 'id',
    limit,
    values: [afterId, ...values],
  });
}
