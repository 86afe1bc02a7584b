import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PLANS, productIdOf } from '../load/subscription-event.ts';

type StripeApi = { readonly url: string; close(): Promise<void> };

/** An account with the products of the load and no missed events. */
export async function startStripeApi(): Promise<StripeApi> {
  const names = new Map(PLANS.map((name, plan) => [productIdOf(plan), name]));
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost');
    const [, kind, id] = /^\/v1\/(\w+)(?:\/(\w+))?$/.exec(pathname) ?? [];
    const name = kind === 'products' ? names.get(id ?? '') : undefined;
    const missing = {
      error: { type: 'invalid_request_error', message: `No such ${kind}: '${id}'` },
    };
    const list = { object: 'list', url: pathname, has_more: false, data: [] };
    const product = { id, object: 'product', active: true, name };
    const found = id === undefined ? list : product;
    const isMissing = id !== undefined && name === undefined;
    response.writeHead(isMissing ? 404 : 200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(isMissing ? missing : found));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
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
