import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startFakeStripeApi } from 'instep/testing';
import { afterAll } from 'vitest';
import { createStripeApi } from '../internals/stripe.ts';
import { API_KEY } from '../secrets/test-secrets.ts';

/** The real client of Stripe's API, with stand-ins for the API, for the tests of a file. */
export function useStripeApis() {
  const servers: { close(): unknown }[] = [];
  afterAll(async () => {
    for (const server of servers) await server.close();
  });

  function retrieveFrom(url: string) {
    const api = createStripeApi({ secretKey: API_KEY, baseUrl: new URL(url) });
    return (productId: string) => api.retrieveProductName(productId);
  }

  return {
    /** An API with these products that can be stopped. */
    async start(productNames: Readonly<Record<string, string>>) {
      const server = await startFakeStripeApi({ productNames });
      servers.push(server);
      return { retrieve: retrieveFrom(server.url), close: () => server.close() };
    },

    /** An API with a handler of the test. */
    async startWith(listener: RequestListener) {
      const server = createServer(listener).listen(0, '127.0.0.1');
      await once(server, 'listening');
      servers.push({ close: () => server.close(() => undefined).closeAllConnections() });
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      return { url, retrieve: retrieveFrom(url) };
    },
  };
}
