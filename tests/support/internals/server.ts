// Names of the source that tests of several folders use: the only files that change when their modules move.

export {
  type AccessPolicy,
  describeDatabase,
  readAuthSecrets,
  readDatabaseConfig,
  readWebhookTarget,
  weakSecrets,
} from 'instep/src/config/config.ts';
export { ReadinessEndpoint } from 'instep/src/server/health.ts';
export { openListener } from 'instep/src/server/listener.ts';
export { findUsers, UserEndpoint } from 'instep/src/server/user.ts';
export { WEBHOOK_PATH, WebhookEndpoint } from 'instep/src/server/webhook.ts';
