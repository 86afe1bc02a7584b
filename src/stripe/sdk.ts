import { createRequire } from 'node:module';
import type Stripe from 'stripe';
import type { Instrumentation } from '../runtime/instrumentation.ts';

export type StripeApiOptions = {
  readonly secretKey: string;
  /** Another address than Stripe's own, for tests and demonstrations. */
  readonly baseUrl?: URL | undefined;
  readonly instrumentation?: Instrumentation;
};

const require = createRequire(import.meta.url);

/**
 * Stripe's SDK, loaded when it is asked for: it is the largest of all packages, and a server is ready
 * before it has anything to ask. File by file: `import` opens hundreds at once, of which there may be
 * too few in a flood of connections, and never tries again.
 */
export function loadSdk(): typeof Stripe {
  return require('stripe');
}

/** Lets requests be made through a client, which tries once and tells nobody anything. */
export function createClient({ secretKey, baseUrl }: StripeApiOptions, timeoutMs: number) {
  let client: Stripe | undefined;
  return async <Found>(
    request: (stripe: Stripe) => Promise<Stripe.Response<Found>>,
  ): Promise<Stripe.Response<Found>> => {
    client ??= new (loadSdk())(secretKey, {
      timeout: timeoutMs,
      maxNetworkRetries: 0,
      telemetry: false,
      ...(baseUrl === undefined ? {} : addressOf(baseUrl)),
    });
    return await request(client);
  };
}

function addressOf(url: URL): Pick<Stripe.StripeConfig, 'protocol' | 'host' | 'port'> {
  const protocol = url.protocol === 'http:' ? 'http' : 'https';
  return { protocol, host: url.hostname, port: url.port || (protocol === 'http' ? 80 : 443) };
}
