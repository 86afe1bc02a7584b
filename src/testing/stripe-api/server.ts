import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiFault, StripeAccount } from './account.ts';
import { type ApiAnswer, answer, failure, missing } from './answer.ts';
import { Collection } from './collection.ts';
import { listObjects } from './list.ts';

export type StripeApiServer = {
  readonly url: string;
  close(): Promise<void>;
};

const PATH = /^\/v1\/(product|subscription|customer|event|webhook_endpoint)s(?:\/([^/]+))?$/;

/** A stand-in for Stripe's API that speaks HTTP to the real SDK. */
export async function startStripeApiServer(account: StripeAccount): Promise<StripeApiServer> {
  const isTooMuch = createLimit(account);
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    const fault = account.onCall?.(path) ?? (isTooMuch() ? { status: 429 } : undefined);
    if (account.delayMs !== undefined) await sleep(account.delayMs, undefined, { ref: false });
    if (account.clockMs !== undefined) {
      response.setHeader('Date', new Date(account.clockMs()).toUTCString());
    }
    respond(response, fault === undefined ? answerTo(path, account) : failed(fault, response));
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

function answerTo(path: string, account: StripeAccount): ApiAnswer {
  if (account.isDown) return failure(503);
  const { pathname, searchParams } = new URL(path, 'http://localhost');
  const [, kind = '', id] = PATH.exec(pathname) ?? [];
  const collections = {
    subscription: account.subscriptions,
    customer: account.customers,
    event: account.events,
    webhook_endpoint: account.webhookEndpoints,
  };
  if (kind === '') return missing('id', 'path', pathname);
  if (kind === 'product' && id !== undefined) return productOf(account, id);
  const collection =
    kind === 'product' ? productsOf(account) : collections[kind as keyof typeof collections];
  if (id === undefined) return listObjects(collection, kind, searchParams, account);
  const found = collection?.get(id);
  return found === undefined ? missing('id', kind, id) : answer(200, found);
}

function productsOf({ productNames }: StripeAccount): Collection {
  const products = Object.entries(productNames).map(([id, name]) => ({ id, name }));
  return new Collection(products.map((product) => ({ ...product, object: 'product' })));
}

function productOf({ productNames }: StripeAccount, id: string): ApiAnswer {
  const name = Object.hasOwn(productNames, id) ? productNames[id] : undefined;
  if (name === undefined) return missing('id', 'product', id);
  return answer(200, { id, object: 'product', active: true, name });
}

function failed({ status, retryAfterSeconds }: ApiFault, response: ServerResponse): ApiAnswer {
  if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', retryAfterSeconds);
  return failure(status);
}

/** Whether there have been too many calls within this second. */
function createLimit({ rateLimit }: StripeAccount): () => boolean {
  let second = 0;
  let calls = 0;
  return () => {
    if (rateLimit === undefined) return false;
    const now = Math.floor(rateLimit.nowMs() / 1_000);
    calls = now === second ? calls + 1 : 1;
    second = now;
    return calls > rateLimit.callsPerSecond;
  };
}

function respond(response: ServerResponse, { status, body }: ApiAnswer): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
