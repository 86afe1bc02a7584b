// Names of the source that tests of several folders use: the only files that change when their modules move.

export {
  issueSession,
  SessionReader,
  secretKeys,
  sessionToken,
  verifySession,
} from 'instep-engine/src/http/session-token.ts';
