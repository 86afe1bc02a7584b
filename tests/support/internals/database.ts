// Names of the source that tests of several folders use: the only files that change when their modules move.

import { MIGRATIONS } from 'instep/src/database/schema.ts';
import { createTables } from 'instep-engine/postgres';
import type { Database } from 'instep-engine/src/postgres/database.ts';
import {
  migrate as migrateTo,
  newestVersion as newestOf,
} from 'instep-engine/src/postgres/migrate.ts';

export { checkWholeSchema as checkSchema, MIGRATIONS } from 'instep/src/database/schema.ts';
export {
  type Database,
  type DatabaseOptions,
  openDatabase,
  type Query,
} from 'instep-engine/src/postgres/database.ts';
export { parseDatabaseUrl, UnfitUrl } from 'instep-engine/src/postgres/database-url.ts';
export { type Examined, pagesOf } from 'instep-engine/src/postgres/examine.ts';
export {
  applicationTablesOf,
  recognizeTables,
} from 'instep-engine/src/postgres/tables/recognize-tables.ts';
export { searchOf } from 'instep-operate/src/runtime/pages.ts';

type MigrateOptions = Partial<Parameters<typeof migrateTo>[1]>;

/** Makes the tables of the engine and of all features, and those of an app that has none. */
export const migrate = (database: Database, options: MigrateOptions = {}) =>
  migrateTo(database, { migrations: MIGRATIONS, others: createTables(true), ...options });

/** That of the engine. */
export const newestVersion = () => newestOf(MIGRATIONS, 'engine');
