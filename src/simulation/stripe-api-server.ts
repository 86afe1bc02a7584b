import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type StripeApiServer = {
  readonly url: string;
  close(): Promise<void>;
};

/** What Stripe's account holds. It may be changed while the server runs. */
export type StripeAccount = {
  /** Names by the ids of products. */
  readonly productNames: Readonly<Record<string, string>>;
  /** Subscription objects by id. */
  readonly subscriptions?: Readonly<Record<string, unknown>>;
  /** While it is, every answer is 503. */
  readonly isDown?: boolean;
};

const PATH = /^\/v1\/(products|subscriptions)\/([^/?]+)$/;

/** A stand-in for Stripe's API that speaks HTTP to the real SDK. */
export async function startStripeApiServer(account: StripeAccount): Promise<StripeApiServer> {
  const server = createServer((request, response) => {
    const [, kind = '', id = ''] = PATH.exec(request.url ?? '') ?? [];
    const found = kind === 'products' ? productOf(account, id) : account.subscriptions?.[id];
    if (account.isDown) {
      respond(response, 503, { error: { type: 'api_error', message: 'Down.' } });
    } else if (found === undefined) {
      const message = `No such ${kind || 'path'}: '${id}'`;
      respond(response, 404, { error: { type: 'invalid_request_error', message } });
    } else respond(response, 200, found);
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

function productOf({ productNames }: StripeAccount, id: string): unknown {
  const name = Object.hasOwn(productNames, id) ? productNames[id] : undefined;
  return name === undefined ? undefined : { id, object: 'product', active: true, name };
}

function respond(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
