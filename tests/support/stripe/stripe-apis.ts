import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';
import { createStripeApi } from '../../../src/stripe/api.ts';
import { startFakeStripeApi } from '../../../src/testing/stripe-api/server.ts';
import { API_KEY } from '../secrets/canaries.ts';

/** The real client of Stripe's API, towards servers of the test's own. They end with the file. */
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
    /** An API that knows these products, and can be taken away. */
    async start(productNames: Readonly<Record<string, string>>) {
      const server = await startFakeStripeApi({ productNames });
      servers.push(server);
      return { retrieve: retrieveFrom(server.url), close: () => server.close() };
    },

    /** An API that does whatever the test wants. */
    async startOdd(listener: RequestListener) {
      const server = createServer(listener).listen(0, '127.0.0.1');
      await once(server, 'listening');
      servers.push({ close: () => server.close(() => undefined).closeAllConnections() });
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      return { url, retrieve: retrieveFrom(url) };
    },
  };
}
