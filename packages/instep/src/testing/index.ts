/**
 * For tests of an app that uses Instep: signed subscription events, and a stand-in for Stripe's API.
 *
 * @module
 */
export {
  type AnnouncedEvent,
  createEventNotification,
  type EventNotification,
} from './event-notification.ts';
export { type SignedRequest, signedRequest, signWebhook } from './sign-webhook.ts';
export type { ApiFault, FakeStripeAccount } from './stripe-api/account.ts';
export { ApiCollection, type ApiObject } from './stripe-api/collection.ts';
export { type FakeStripeApi, startFakeStripeApi } from './stripe-api/server.ts';
export {
  createSubscriptionEvent,
  type SubscriptionEvent,
  type SubscriptionEventFields,
} from './subscription-event.ts';
