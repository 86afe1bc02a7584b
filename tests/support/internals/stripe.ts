// Names of the source that tests of several folders use: the only files that change when their modules move.

export {
  createEventRetrieval,
  createStripeApi,
  type StripeApi,
  type StripePage,
} from 'instep-engine/src/stripe/api.ts';
export { StripeApiFailed } from 'instep-engine/src/stripe/api-failure.ts';
export {
  parseBody,
  parseEvent,
  type ReadableEvent,
  type StripeEvent,
} from 'instep-engine/src/stripe/parse-event.ts';
export { SignatureVerifier } from 'instep-engine/src/stripe/signature.ts';
