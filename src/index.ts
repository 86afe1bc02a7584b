export {
  type Config,
  ConfigInvalid,
  configWarnings,
  type Environment,
  readConfig,
} from './config/config.ts';
export type { Ingest } from './ingest/pipeline.ts';
export type { ReceivedEvent, Result } from './ingest/received-event.ts';
export { type Instep, type InstepOptions, openInstep } from './instep.ts';
export type { Query } from './postgres/database.ts';
export {
  DatabaseBusy,
  DatabaseConflict,
  DatabaseRefused,
  DatabaseUnavailable,
  DatabaseUnusable,
} from './postgres/errors.ts';
export { SchemaNewer, SchemaOutdated } from './postgres/migrate.ts';
export { ApplicationTablesUnfit } from './queries/application-tables.ts';
export { QueueFull } from './runtime/batcher.ts';
export { DeadlineExceeded } from './runtime/deadline.ts';
export { InstepError } from './runtime/errors.ts';
export { createLogger, type Logger, type LogLevel } from './runtime/logging.ts';
export { ListenFailed, type RunningServer } from './server/listener.ts';
export { type ListenOptions, listen } from './server/server.ts';
