// Whether the schema `instep` holds only our tables (docs/postgres.md): prepare.ts refuses it otherwise.

import { InstepError } from '../runtime/errors.ts';
import type { Query } from './database.ts';
import { ENGINE_MIGRATIONS, type Migration } from './migrations.ts';

/** The schema `instep` holds tables that are not ours, which would be deleted with it. */
export class SchemaShared extends InstepError {
  readonly code = 'SCHEMA_SHARED';
}

/** If this pattern missed one of ours, no database could be opened. */
const CREATED = /^create (?:or replace )?(?:table|view) instep\.(\w+)/gm;

/**
 * Checks that our schema holds only our tables. `"$user"` is the first name in PostgreSQL's search path, so an app that
 * connects as a role named `instep` creates its tables among ours.
 *
 * @throws SchemaShared
 */
export async function checkOwnSchema(
  query: Query,
  features: readonly {
    readonly migrations: readonly Migration[];
    readonly views?: readonly string[];
  }[],
): Promise<void> {
  const migrations = [ENGINE_MIGRATIONS, ...features.map((feature) => feature.migrations)].flat();
  const own = [
    ...migrations.flatMap(({ sql }) => [...sql.matchAll(CREATED)].map(([, name]) => name)),
    ...features.flatMap(({ views = [] }) => views),
  ];
  const foreign = await query<{ name: string }>({
    name: 'read_foreign_tables',
    // The catalog needs no privilege. Tables of a newer version, or of a feature that is not here, are not in the list.
    text: `
      select format('instep.%I', relname) as name
        from pg_class
       where relnamespace = to_regnamespace('instep')
         and relkind in ('r', 'p', 'v', 'm', 'f')
         and relname <> all ($1::text[])
         and not exists (
               select
                 from instep.migrations
                where owner || ' ' || version <> all ($2::text[])
             )
       order by relname
       limit 20`,
    values: [own, migrations.map(({ owner, version }) => `${owner} ${version}`)],
  });
  if (foreign.length === 0) return;
  const names = foreign.map(({ name }) => name);
  const statements = names.map((name) => `alter table ${name} set schema public;`);
  throw new SchemaShared(
    `the schema instep must hold only Instep's tables, but has ${names.join(', ')}: let your app connect as a ` +
      `role with another name, and run ${statements.join(' ')}`,
  );
}
