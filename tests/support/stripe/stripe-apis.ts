import type { RequestListener } from 'node:http';
import { startFakeStripeApi } from 'instep/testing';
import { atEndOfFile } from '../end-of-file.ts';
import { createStripeApi } from '../internals/stripe.ts';
import { serve } from '../network/local-server.ts';
import { API_KEY } from '../secrets/test-secrets.ts';

function retrieveFrom(url: string) {
  const api = createStripeApi({ secretKey: API_KEY, baseUrl: new URL(url) });
  return (productId: string) => api.retrieveProductName(productId);
}

/** The real client of Stripe's API, and a stand-in for the API with these products, which can be stopped. */
export async function startStripe(productNames: Readonly<Record<string, string>>) {
  const { url, close } = await startFakeStripeApi({ productNames });
  atEndOfFile(close);
  return { retrieve: retrieveFrom(url), close };
}

/** The same with a handler of the test. */
export async function startStripeWith(listener: RequestListener) {
  const url = await serve(listener);
  return { url, retrieve: retrieveFrom(url) };
}
