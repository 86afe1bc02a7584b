// The public API of the package `instep`, besides its other entry points: adapters/, operate/index.ts, testing/index.ts.

import { type Instep, type InstepOptions, logSettings, openService } from './instep.ts';

export {
  type Handler,
  type HttpRequest,
  type HttpResponse,
  type IngestWebhook,
  type IngestWebhookOptions,
  type ListenerOptions,
  ListenFailed,
  type ListenOptions,
  listen,
  type Profile,
  type RunningServer,
} from 'instep-engine/http';
export {
  type ApplicationId,
  ApplicationTablesUnfit,
  DatabaseBusy,
  DatabaseConflict,
  type DatabasePool,
  DatabaseRefused,
  DatabaseUnavailable,
  DatabaseUnusable,
  type DeclaredTable,
  type PlanChange,
  SchemaMismatch,
  type TeamChangesRequest,
  type User,
} from 'instep-engine/postgres';
export type { MaintenanceMode } from 'instep-engine/repair';
export type {
  ChangeCause as PlanChangeCause,
  PlanInRow as TeamPlan,
  PlanSelection,
  Status,
} from 'instep-engine/rule';
export {
  createLogger,
  DeadlineExceeded,
  InstepError,
  type LogDestination,
  type Logger,
  type LogLevel,
  QueueFull,
  type WriteLine,
} from 'instep-engine/runtime';
export { BodyNotJson, SignatureInvalid } from 'instep-engine/stripe';
export type { Exposition } from 'instep-operate/metrics';
export type { AccessReason, TeamAccess } from './access/team-access.ts';
export {
  createHandler,
  type FetchHandler,
  type HandlerMethods,
  type HandlerOptions,
  type HandlerPaths,
} from './adapters/handler.ts';
export { type ReadSessionOptions, readSession } from './adapters/read-session.ts';
export { ConsumerRefused, type FeedStart } from './changes/consumers.ts';
export type { Feed, FeedOptions, PlanChangeHandler } from './changes/feature.ts';
export {
  type CheckoutOf,
  type CompleteCheckoutRequest,
  SyncFailed,
  type SyncFailedCode,
} from './checkout/checkout.ts';
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
