/**
 * For tests of an app that uses Instep: signed subscription events, and a stand-in for Stripe's API.
 *
 * @module
 */

export {
  ApiCollection,
  type ApiFault,
  type ApiObject,
  type FakeStripeAccount,
  type FakeStripeApi,
  type FakeStripeObjects,
  startFakeStripeApi,
} from './fake-stripe-api.ts';
export {
  type AnnouncedEvent,
  type CheckoutSession,
  type CheckoutSessionFields,
  createCheckoutSession,
  createEventNotification,
  createSubscriptionEvent,
  type EventNotification,
  type SignedRequest,
  type SubscriptionEvent,
  type SubscriptionEventFields,
  signedRequest,
  signWebhook,
} from './stripe-objects.ts';
