// `instep-engine/stripe`: Stripe's wire format and API.

export {
  createStripeApi,
  getPage,
  type StripeApi,
  type StripeCustomer,
  type StripePage,
  TYPES_QUERY,
} from './api.ts';
export { createGet, type Get, lastShownSecond, type StripeApiOptions } from './api-call.ts';
export { StripeApiFailed, unlessRefused } from './api-failure.ts';
export { type EventOrigin, keyKindOf, type Mode, mismatchOf, originOfBody } from './key-kind.ts';
export {
  BodyNotJson,
  DELETED_TYPE,
  HANDLED_TYPES,
  isHandledType,
  isId,
  NOTIFICATION_TYPES,
  parseEvent,
  SNAPSHOT_TYPE,
  TEAM_KEY,
  teamNamedIn,
} from './parse-event.ts';
export { SignatureInvalid } from './signature.ts';
export { type ListedSubscription, parseListedSubscription } from './subscription-snapshot.ts';
