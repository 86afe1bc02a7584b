// The public API of the package `instep`, besides its other entry points: adapters/, operate/index.ts, testing/index.ts.

import { type Instep, type InstepOptions, logSettings, openService } from './instep.ts';

export type {
  ChangeCause as PlanChangeCause,
  Plan as TeamPlan,
  PlanSelection,
  Status,
} from 'instep-engine';
export {
  DatabaseBusy,
  DatabaseConflict,
  DatabaseRefused,
  DatabaseUnavailable,
  DatabaseUnusable,
  DeadlineExceeded,
  InstepError,
  QueueFull,
} from 'instep-engine';
export type { AccessReason, TeamAccess } from './access/team-access.ts';
export type { HandlerMethods, HandlerOptions, HandlerPaths } from './adapters/handler.ts';
export { createHandler, type FetchHandler } from './adapters/handler.ts';
export { type ReadSessionOptions, readSession } from './adapters/read-session.ts';
export type { ApplicationId, User } from './application.ts';
export { ConsumerRefused, type FeedStart } from './changes/consumers.ts';
export type { Feed, FeedOptions, PlanChangeHandler } from './changes/plan-change-feed.ts';
export type { CheckoutOf, CompleteCheckoutRequest } from './checkout/checkout.ts';
export { SyncFailed, type SyncFailedCode } from './checkout/checkout.ts';
export {
  type AlertConfig,
  type Config,
  ConfigInvalid,
  type ConfigProblem,
  type DatabaseConfig,
  type Environment,
  type OperationsConfig,
  readConfig,
} from './config/config.ts';
export type { Instep, InstepOptions } from './instep.ts';
export type { MaintenanceMode } from './maintenance/worker.ts';
export type { Exposition } from './metrics/metrics.ts';
export type { DatabasePool } from './postgres/database-pool.ts';
export { SchemaInUse, SchemaMismatch } from './postgres/migrate.ts';
export type {
  PlanChange,
  TeamChangesRequest,
} from './postgres/statements/plan-changes.ts';
export type {
  DeclaredTable,
  DeclaredTables,
  MemberField,
  TeamField,
  UserField,
} from './postgres/tables/application-tables.ts';
export { ApplicationTablesUnfit } from './postgres/tables/recognize-tables.ts';
export type { LogDestination } from './runtime/logging.ts';
export {
  createLogger,
  type Logger,
  type LoggerOptions,
  type LogLevel,
  type WriteLine,
} from './runtime/logging.ts';
export type { Handler, HttpRequest, HttpResponse } from './server/http-message.ts';
export {
  type ListenerOptions,
  ListenFailed,
  type ListenOptions,
  listen,
  type RunningServer,
} from './server/listener.ts';
export type { Profile } from './server/user.ts';
export type { IngestWebhook, IngestWebhookOptions } from './server/webhook.ts';
export { BodyNotJson } from './stripe/parse-event.ts';
export { SignatureInvalid } from './stripe/signature.ts';

/**
 * Logs which database is used, connects to it, migrates Instep's own tables, checks the
 * application's, and starts maintenance in the background. Mount the result's `fetch` in your app,
 * or serve its `handle` with `listen`.
 *
 * @throws InstepError with a code such as `DATABASE_UNAVAILABLE` (try again later), `SCHEMA_NEWER`,
 * `APPLICATION_TABLES_UNFIT`, or one of the embedded database; the message says what to do
 * @example
 * ```ts
 * import { createLogger, openInstep, readConfig } from 'instep';
 *
 * const config = readConfig(process.env);
 * const instep = await openInstep({ config, logger: createLogger('info') });
 * const response = await instep.fetch(new Request('http://localhost/healthz'));
 * console.log(response.status); // 200
 * await instep.close();
 * ```
 */
export async function openInstep(options: InstepOptions): Promise<Instep> {
  logSettings(options);
  return await openService(options);
}
