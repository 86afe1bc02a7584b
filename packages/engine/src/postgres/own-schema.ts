// Whether the schema `instep` holds only our tables (docs/decisions/0031): connect.ts refuses to start otherwise.

import { InstepError } from '../runtime/errors.ts';
import type { Query } from './database.ts';
import { MIGRATIONS, newestVersion } from './migrations.ts';

/** The schema `instep` holds tables that are not ours, which would be deleted with it. */
export class SchemaShared extends InstepError {
  readonly code = 'SCHEMA_SHARED';
}

/** If this pattern missed one of ours, no database could be opened. */
const OWN = MIGRATIONS.flatMap(({ sql }) =>
  [...sql.matchAll(/^create (?:or replace )?(?:table|view) instep\.(\w+)/gm)].map(
    ([, name]) => name,
  ),
);

/**
 * Checks that our schema holds only our tables. `"$user"` is the first name in PostgreSQL's search path, so an app that
 * connects as a role named `instep` creates its tables among ours.
 *
 * @throws SchemaShared
 */
export async function checkOwnSchema(query: Query): Promise<void> {
  const foreign = await query<{ name: string }>({
    name: 'read_foreign_tables',
    // The catalog needs no privilege. The tables of a newer version are not in the list of ours.
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
  if (foreign.length === 0) return;
  const names = foreign.map(({ name }) => name);
  const statements = names.map((name) => `alter table ${name} set schema public;`);
  throw new SchemaShared(
    `the schema instep must hold only Instep's tables, but has ${names.join(', ')}: let your app connect as a ` +
      `role with another name, and run ${statements.join(' ')}`,
  );
}
