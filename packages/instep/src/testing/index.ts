/**
 * For tests of an app that uses Instep: signed subscription events, and a stand-in for Stripe's API.
 *
 * @module
 */

export { ApiCollection, type ApiObject } from './api-collection.ts';
export {
  type CheckoutSession,
  type CheckoutSessionFields,
  createCheckoutSession,
} from './checkout-session.ts';
export {
  type ApiFault,
  type FakeStripeAccount,
  type FakeStripeApi,
  startFakeStripeApi,
} from './fake-stripe-api.ts';
export { type SignedRequest, signedRequest, signWebhook } from './sign-webhook.ts';
export {
  type AnnouncedEvent,
  createEventNotification,
  createSubscriptionEvent,
  type EventNotification,
  type SubscriptionEvent,
  type SubscriptionEventFields,
} from './subscription-event.ts';
