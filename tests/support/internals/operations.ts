// Names of the source that tests of several folders use: the only files that change when their modules move.

export { createContext } from 'instep/src/operate/open-context.ts';
export { OTHER_FEATURES } from 'instep/src/operate/other-features.ts';
export { openOperations } from 'instep/src/operators-listener/open-operations.ts';
export { performForTeam } from 'instep/src/operators-listener/sync-api.ts';
export { createTokenCheck, listenForOperators } from 'instep-operate/listener';
