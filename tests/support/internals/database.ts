// Names of the source that tests of several folders use: the only files that change when their modules move.

export {
  type Database,
  openDatabase,
  type Query,
  unlessRefused,
} from 'instep-engine/src/postgres/database.ts';
export { parseDatabaseUrl, UnfitUrl } from 'instep-engine/src/postgres/database-url.ts';
export { type Examined, pagesOf, readPage } from 'instep-engine/src/postgres/examine.ts';
export { checkSchema, migrate } from 'instep-engine/src/postgres/migrate.ts';
export { MIGRATIONS, newestVersion } from 'instep-engine/src/postgres/migrations.ts';
export {
  applicationTablesOf,
  recognizeTables,
} from 'instep-engine/src/postgres/tables/recognize-tables.ts';
