// Keeps the app's tables out of the schema `instep` (docs/decisions/0031): connect.ts corrects the search path, the
// doctor checks it.

import type { Database, Query } from './database.ts';
import { MIGRATION_LOCK } from './migrate.ts';
import { MIGRATIONS, newestVersion } from './migrations.ts';

/** How a role's search path leads to our schema, and the statement that takes it out. */
type OwnSchemaFound = { readonly path: string; readonly statement: string };

export const OWN_SCHEMA_FIRST =
  'the schema instep comes first in the search path, so tables that your app creates go there, and are deleted with it';

/**
 * Whether new connections of this role look into our schema first: `"$user"` is the first name in PostgreSQL's search
 * path, so a role named `instep` does. An app that connects as it would create its tables among ours, which
 * uninstalling deletes, and would read our `products` instead of its own.
 */
export async function findOwnSchemaInPath(query: Query): Promise<OwnSchemaFound | null> {
  const [found = null] = await query<OwnSchemaFound>({
    name: 'find_own_schema_in_path',
    // reset_val is what the connection began with.
    text: `
      select reset_val as path,
             format('alter role %I in database %I set search_path = %s',
                    current_user, current_database(), coalesce(others, 'public')) as statement
        from pg_settings
       cross join lateral (
               select string_agg(name, ', ' order by position) as others
                 from regexp_matches(reset_val, '("(?:[^"]|"")*"|[^",\\s]+)', 'g')
                        with ordinality as matched (names, position)
                cross join unnest(names) as name
                where name not in ('"$user"', '$user')
             ) as without_user
       where name = 'search_path'
         and current_user = 'instep'
         and reset_val like '%$user%'`,
  });
  return found;
}

/**
 * Gives a role named `instep` the search path that it had before our schema was there. Returns what it did, for people;
 * `null` if nothing had to be changed.
 *
 * @throws InstepError if the server forbids it
 */
export async function leaveSearchPath({ query, transaction }: Database): Promise<string | null> {
  const found = await findOwnSchemaInPath(query);
  if (found === null) return null;
  await transaction(async (query) => {
    // Instances that start together must not change the same row at once.
    await query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await query(found.statement);
  });
  return `in this database, the role instep had the search path ${found.path}, in which the schema instep came first; to keep your own tables out of it, Instep ran: ${found.statement}. Restart other programs that connect as this role`;
}

/** If this pattern missed one of ours, the doctor would name it: a test examines a migrated database. */
const OWN = MIGRATIONS.flatMap(({ sql }) =>
  [...sql.matchAll(/^create (?:or replace )?(?:table|view) instep\.(\w+)/gm)].map(
    ([, name]) => name,
  ),
);

/** The tables and views in our schema that are not ours, in the syntax of SQL; none if a newer version has migrated it. */
export async function readForeignTables(query: Query): Promise<string[]> {
  const rows = await query<{ name: string }>({
    name: 'read_foreign_tables',
    text: `
      select format('instep.%I', relname) as name
        from pg_class
       where relnamespace = to_regnamespace('instep')
         and relkind in ('r', 'p', 'v', 'm', 'f')
         and relname <> all ($1::text[])
         and not exists (select from instep.migrations where version > $2)
       order by relname
       limit 20`,
    values: [[...OWN, 'team_access'], newestVersion()],
  });
  return rows.map(({ name }) => name);
}
