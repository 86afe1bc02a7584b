export {
  type Config,
  ConfigInvalid,
  configWarnings,
  type Environment,
  readConfig,
} from './config.ts';
export type { Query } from './database/database.ts';
export {
  DatabaseBusy,
  DatabaseConflict,
  DatabaseRefused,
  DatabaseUnavailable,
  DatabaseUnusable,
} from './database/errors.ts';
export { SchemaNewer, SchemaOutdated } from './database/migrate.ts';
export { DeadlineExceeded } from './deadline.ts';
export { InstepError } from './errors.ts';
export { ListenFailed, type RunningServer } from './http/listener.ts';
export { type ListenOptions, listen } from './http/server.ts';
export { type Instep, type InstepOptions, openInstep } from './instep.ts';
export { createLogger, type Logger, type LogLevel } from './logging.ts';
export { ApplicationTablesUnfit } from './store/application-tables.ts';
export { QueueFull } from './sync/batcher.ts';
export type { Accept } from './sync/door.ts';
export type { ReceivedEvent, Result } from './sync/received-event.ts';
