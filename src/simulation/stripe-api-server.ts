import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type StripeApiServer = {
  readonly url: string;
  close(): Promise<void>;
};

const PRODUCT_PATH = /^\/v1\/products\/([^/?]+)$/;

/** A stand-in for Stripe's API that speaks HTTP to the real SDK: it knows these products' names. */
export async function startStripeApiServer(
  productNames: Readonly<Record<string, string>>,
): Promise<StripeApiServer> {
  const server = createServer((request, response) => {
    const productId = PRODUCT_PATH.exec(request.url ?? '')?.[1] ?? '';
    const name = Object.hasOwn(productNames, productId) ? productNames[productId] : undefined;
    if (name === undefined) {
      const message = `No such product: '${productId}'`;
      respond(response, 404, { error: { type: 'invalid_request_error', message } });
    } else {
      respond(response, 200, { id: productId, object: 'product', active: true, name });
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function respond(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
