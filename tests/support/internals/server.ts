// Names of the source that tests of several folders use: the only files that change when their modules move.

export {
  type AccessPolicy,
  describeDatabase,
  readPart,
  weakSecrets,
} from 'instep/src/config/config.ts';
export { ReadinessEndpoint } from 'instep-engine/src/http/health.ts';
export { openListener } from 'instep-engine/src/http/listener.ts';
export { findUsers } from 'instep-engine/src/http/user.ts';
export { WEBHOOK_PATH } from 'instep-engine/src/http/webhook.ts';
