// `instep-engine/http`: the two endpoints.

export { createFetchHandler } from './fetch-handler.ts';
export { handleWhileStarting } from './health.ts';
export {
  type Handler,
  HttpError,
  type HttpRequest,
  type HttpResponse,
  headersWith,
  isSameSecret,
  jsonResponse,
  methodNotAllowed,
  notFound,
  USER_PATH,
  unavailable,
} from './http-message.ts';
export {
  type ListenerOptions,
  ListenFailed,
  type ListenOptions,
  listen,
  openListener,
  type RunningServer,
  urlOf,
} from './listener.ts';
export { createNodeListener, requestPath } from './node-listener.ts';
export {
  issueSession,
  SESSION_COOKIE,
  type Session,
  SessionReader,
  secretKeys,
  sessionToken,
} from './session-token.ts';
export type { Profile } from './user.ts';
export {
  type IngestWebhook,
  type IngestWebhookOptions,
  SIGNATURE_FAILED,
  WEBHOOK_PATH,
} from './webhook.ts';
