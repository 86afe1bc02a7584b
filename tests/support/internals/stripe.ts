// Names of the source that tests of several folders use: the only files that change when their modules move.

import {
  createEventRetrieval as createEventRetrievalWith,
  createStripeApi as createStripeApiWith,
} from 'instep-engine/src/stripe/api.ts';
import { createGet, type StripeApiOptions } from 'instep-engine/src/stripe/api-call.ts';

export type {
  StripeApi,
  StripePage,
} from 'instep-engine/src/stripe/api.ts';
export { StripeApiFailed } from 'instep-engine/src/stripe/api-failure.ts';
export {
  parseBody,
  parseEvent,
  type ReadableEvent,
  type StripeEvent,
} from 'instep-engine/src/stripe/parse-event.ts';
export { SignatureVerifier } from 'instep-engine/src/stripe/signature.ts';

export const createStripeApi = (options: StripeApiOptions) =>
  createStripeApiWith(createGet(options));

export const createEventRetrieval = (options: StripeApiOptions) =>
  createEventRetrievalWith(createGet(options));
