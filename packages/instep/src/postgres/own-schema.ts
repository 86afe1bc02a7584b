// Whether the schema `instep` holds only our tables (docs/decisions/0031): connect.ts refuses to start otherwise, and the
// doctor says the same.

import { InstepError } from '../runtime/errors.ts';
import type { Query } from './database.ts';
import { MIGRATIONS, newestVersion } from './migrations.ts';
import { onlyRow } from './statement.ts';

/** The schema `instep` holds tables that are not ours, which would be deleted with it. */
export class SchemaShared extends InstepError {
  readonly code = 'SCHEMA_SHARED';
  readonly problem: string;
  readonly advice: string;

  constructor(problem: string, advice: string) {
    super(`${problem}: ${advice}`);
    this.problem = problem;
    this.advice = advice;
  }
}

/**
 * Checks that our schema holds only our tables. `"$user"` is the first name in PostgreSQL's search path, so an app that
 * connects as a role named `instep` creates its tables among ours.
 *
 * @throws SchemaShared
 */
export async function checkOwnSchema(query: Query): Promise<void> {
  const foreign = await readForeignTables(query);
  if (foreign.length === 0) return;
  const { isNewer, isRoleLedHere } = await readCause(query);
  // The tables of a newer version are not in the list of ours.
  if (isNewer) return;
  const statements = foreign.map((name) => `alter table ${name} set schema public;`);
  if (isRoleLedHere) statements.unshift('alter role instep set search_path = public;');
  throw new SchemaShared(
    `the schema instep must hold only Instep's tables, but has ${foreign.join(', ')}`,
    `run ${statements.join(' ')}`,
  );
}

/** If this pattern missed one of ours, no database could be opened. */
const OWN = MIGRATIONS.flatMap(({ sql }) =>
  [...sql.matchAll(/^create (?:or replace )?(?:table|view) instep\.(\w+)/gm)].map(
    ([, name]) => name,
  ),
);

/** The tables and views in our schema that are not ours, in the syntax of SQL. The catalog needs no privilege. */
async function readForeignTables(query: Query): Promise<string[]> {
  const rows = await query<{ name: string }>({
    name: 'read_foreign_tables',
    text: `
      select format('instep.%I', relname) as name
        from pg_class
       where relnamespace = to_regnamespace('instep')
         and relkind in ('r', 'p', 'v', 'm', 'f')
         and relname <> all ($1::text[])
       order by relname
       limit 20`,
    values: [[...OWN, 'team_access']],
  });
  return rows.map(({ name }) => name);
}

async function readCause(query: Query): Promise<{ isNewer: boolean; isRoleLedHere: boolean }> {
  return await onlyRow(query, {
    name: 'read_cause_of_foreign_tables',
    // reset_val is the search path that the connection began with.
    text: `
      select exists (select from instep.migrations where version > $1) as "isNewer",
             current_user = 'instep' and reset_val like '%$user%' as "isRoleLedHere"
        from pg_settings
       where name = 'search_path'`,
    values: [newestVersion()],
  });
}
