// Names of the source that tests of several folders use: the only files that change when their modules move.

export { createContext } from 'instep/src/operate/context.ts';
export { performOne } from 'instep/src/operate/perform.ts';
export {
  createTokenCheck,
  listenForOperators,
  openOperations,
} from 'instep/src/operators-listener/open-operations.ts';
