// `instep-engine/postgres`: connections, migrations, the application's tables and their statements.

export type { ApplicationId, User } from './application.ts';
export type { DatabasePool, PoolOptions, PoolUse, ServerConnection } from './connection-options.ts';
export {
  type Database,
  type DatabaseServer,
  type Query,
  serverAt,
} from './database.ts';
export {
  type DatabaseAddress,
  describeAddress,
  parseDatabaseUrl,
  UnfitUrl,
  withIssuer,
} from './database-url.ts';
export {
  CHECK_CONNECTION,
  canOthersSucceed,
  DatabaseBusy,
  DatabaseConflict,
  DatabaseRefused,
  DatabaseUnavailable,
  DatabaseUnusable,
  databaseError,
  isOfConnection,
} from './errors.ts';
export type { Examined } from './examine.ts';
export {
  checkSchema,
  ENGINE_MIGRATIONS,
  type Migration,
  newestVersion,
  SchemaMismatch,
} from './migrate.ts';
export { type NeonSql, neonDatabase } from './neon-database.ts';
export { type PostgresJs, postgresJsDatabase } from './postgres-js-database.ts';
export { type FeatureSchema, type PrepareOptions, prepareServer } from './prepare.ts';
export { createTables, ENGINE_SCHEMA } from './schema.ts';
export { SESSION_OPTIONS } from './session-settings.ts';
export {
  columnArrays,
  type NamedStatement,
  onlyRow,
  type Statement,
  type StatementRunner,
} from './statement.ts';
export {
  readCustomerIdsOf,
  readStates,
  type StoredStates,
} from './statements/customers.ts';
export { readEncryption } from './statements/encryption.ts';
export { type IssueCause, storeTeamless } from './statements/issues.ts';
export { type LinkRefusal, linkAvailableTeam, linkTeam } from './statements/link-teams.ts';
export {
  PLAN_CHANGE_COLUMNS,
  type PlanChange,
  readNewestChange,
  readTeamChanges,
  type TeamChangesRequest,
} from './statements/plan-changes.ts';
export { readProductNames } from './statements/products.ts';
export {
  addTeam,
  lockTeam,
  planAsJson,
  readTeam,
  readTeamsOf,
  type Team,
  teamColumns,
} from './statements/teams.ts';
export { addUser, ProfileOff } from './statements/users.ts';
export { writePlan } from './statements/write-plan.ts';
export {
  type ApplicationTables,
  type DeclaredTable,
  FIELDS,
  type WantedTables,
} from './tables/application-tables.ts';
export { idFrom, isAfter } from './tables/id-from-text.ts';
export {
  findHiddenRows,
  type HiddenRows,
  neededPrivileges,
} from './tables/privileges.ts';
export {
  ApplicationTablesUnfit,
  type Recognition,
  recognizeTables,
} from './tables/recognize-tables.ts';
export {
  columnOf,
  keptPlanName,
  type RecognizedColumn,
  type RecognizedTable,
  writtenText,
} from './tables/recognized-tables.ts';
export type { PlanColumn, TeamsTable } from './teams-table.ts';
export { writersHaveEnded } from './writers.ts';
