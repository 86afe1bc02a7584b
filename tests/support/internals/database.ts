// Names of the source that tests of several folders use: the only files that change when their modules move.

export {
  type Database,
  openDatabase,
  type Query,
  unlessRefused,
} from 'instep/src/postgres/database.ts';
export { parseDatabaseUrl, UnfitUrl } from 'instep/src/postgres/database-url.ts';
export { type Examined, pagesOf, readPage } from 'instep/src/postgres/examine.ts';
export { checkSchema, migrate } from 'instep/src/postgres/migrate.ts';
export { MIGRATIONS, newestVersion } from 'instep/src/postgres/migrations.ts';
export {
  applicationTablesOf,
  recognizeTables,
} from 'instep/src/postgres/tables/recognize-tables.ts';
