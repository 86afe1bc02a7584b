import Stripe from 'stripe';
import { withDeadline } from '../deadline.ts';
import { InstepError } from '../errors.ts';
import type { Json } from '../subscriptions/second.ts';
import { isStorableName } from './subscription-shape.ts';

export type StripeApi = {
  /** The name of a product; `null` when Stripe knows no such product, or none that can be kept. */
  retrieveProductName(productId: string): Promise<string | null>;
  /** A subscription as Stripe has it now; `null` when it knows no such subscription. */
  retrieveSubscription(subscriptionId: string): Promise<Json | null>;
};

export type StripeApiOptions = {
  readonly secretKey: string;
  /** Another address than Stripe's own, for tests and demonstrations. */
  readonly baseUrl?: URL | undefined;
};

/** Stripe's API did not answer, or not with what was asked for. */
export class StripeApiFailed extends InstepError {
  readonly code = 'STRIPE_API_FAILED';
}

/** An event waits no longer than this for the name of its product. */
const TIMEOUT_MS = 2_000;

/** Stripe's API, as far as it is needed. Its calls throw `DeadlineExceeded` or `StripeApiFailed`. */
export function createStripeApi({ secretKey, baseUrl }: StripeApiOptions): StripeApi {
  const stripe = new Stripe(secretKey, {
    timeout: TIMEOUT_MS,
    maxNetworkRetries: 0,
    telemetry: false,
    ...(baseUrl === undefined ? {} : addressOf(baseUrl)),
  });
  return {
    async retrieveProductName(productId) {
      const product = await found(stripe.products.retrieve(productId));
      return product !== null && isStorableName(product.name) ? product.name : null;
    },
    async retrieveSubscription(subscriptionId) {
      const subscription = await found(stripe.subscriptions.retrieve(subscriptionId));
      // What came over the wire, and nothing that the SDK has made of it.
      return subscription === null ? null : JSON.parse(JSON.stringify(subscription));
    },
  };
}

/** What was asked for, or `null` when there is no such thing. */
async function found<Found>(request: Promise<Stripe.Response<Found>>): Promise<Found | null> {
  try {
    // The SDK's own timeout begins anew with every byte that arrives.
    const answer = await withDeadline(request, TIMEOUT_MS);
    // The SDK sees a failure by Stripe's own words only, and others may answer in its place.
    const { statusCode } = answer.lastResponse;
    if (statusCode !== 200) throw new StripeApiFailed(`answered ${statusCode}`);
    return answer;
  } catch (error) {
    if (!(error instanceof Stripe.errors.StripeError)) throw error;
    if (error.statusCode === 404) return null;
    throw new StripeApiFailed(`${error.type} (${error.statusCode ?? 'no answer'})`);
  }
}

function addressOf(url: URL): Pick<Stripe.StripeConfig, 'protocol' | 'host' | 'port'> {
  const protocol = url.protocol === 'http:' ? 'http' : 'https';
  return { protocol, host: url.hostname, port: url.port || (protocol === 'http' ? 80 : 443) };
}
