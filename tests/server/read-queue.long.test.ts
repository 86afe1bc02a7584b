import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { jsonResponse, unavailable } from 'instep/src/server/http-message.ts';
import { createNodeListener } from 'instep/src/server/node-listener.ts';
import { afterEach, expect, test } from 'vitest';

const CONNECTIONS = 60;
const ROUNDS = 5;
/** One connection is resumed in each iteration of the event loop; its data can arrive in a later one. */
const MAX_READ_IN_ITERATION = 4;
/** The keep-alive time of a connection, and the additional time that Node keeps it. */
const KEEP_ALIVE_MS = 100;
const KEEP_ALIVE_BUFFER_MS = 1_000;

const POST = 'POST /events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello';

const open = new Set<{ close(): unknown } | Socket>();
afterEach(() => {
  for (const one of open) 'destroy' in one ? one.destroy() : one.close();
  open.clear();
});

function countIterations(): () => number {
  let iteration = 0;
  function next(): void {
    iteration += 1;
    pending = setImmediate(next);
  }
  let pending = setImmediate(next);
  open.add({ close: () => clearImmediate(pending) });
  return () => iteration;
}

/** A server, and the iterations of the event loop in which it received requests. */
async function serve(isAccepted: () => boolean) {
  const iteration = countIterations();
  const received: number[] = [];
  const listener = createNodeListener(async () => {
    received.push(iteration());
    return isAccepted() ? jsonResponse({}) : unavailable().toResponse('/api/stripe/webhook');
  });
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, listener).listen(0, '127.0.0.1');
  open.add(server);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, received };
}

/** Sends a request on each connection as soon as the last one is answered; returns the statuses. */
async function insist(connections: readonly Socket[], times: number): Promise<string[]> {
  const statuses = connections.map(async (connection) => {
    const statuses: string[] = [];
    for (let time = 0; time < times; time += 1) {
      connection.write(POST);
      const [response] = await once(connection, 'data');
      statuses.push(String(response).slice(9, 12));
    }
    return statuses;
  });
  return (await Promise.all(statuses)).flat();
}

function connectAll(port: number): Socket[] {
  const connections = Array.from({ length: CONNECTIONS }, () => connect(port, '127.0.0.1'));
  for (const connection of connections) open.add(connection);
  return connections;
}

/** All connections are accepted before they start to flood the server in the same moment. */
async function flood(port: number): Promise<string[]> {
  const connections = connectAll(port);
  return [...(await insist(connections, 1)), ...(await insist(connections, ROUNDS - 1))];
}

/** The maximum number of requests in one iteration, after two from each connection. */
function mostInIteration(received: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const iteration of received.slice(2 * CONNECTIONS)) {
    counts.set(iteration, (counts.get(iteration) ?? 0) + 1);
  }
  return Math.max(...counts.values());
}

test('reads from refused senders one after the other, and answers each of them', async () => {
  const { port, received } = await serve(() => false);
  const statuses = await flood(port);
  expect(statuses).toEqual(Array(CONNECTIONS * ROUNDS).fill('503'));
  expect(received).toHaveLength(CONNECTIONS * ROUNDS);
  expect(mostInIteration(received)).toBeLessThanOrEqual(MAX_READ_IN_ITERATION);
});

test('reads from accepted senders one after the other while refused ones are waiting', async () => {
  let count = 0;
  const { port, received } = await serve(() => {
    count += 1;
    return count % 2 === 0;
  });
  const statuses = await flood(port);
  expect(new Set(statuses)).toEqual(new Set(['200', '503']));
  expect(mostInIteration(received)).toBeLessThanOrEqual(MAX_READ_IN_ITERATION);
});

test('reads from all senders at once while none is waiting', async () => {
  const { port, received } = await serve(() => true);
  const statuses = await flood(port);
  expect(new Set(statuses)).toEqual(new Set(['200']));
  expect(mostInIteration(received)).toBeGreaterThan(MAX_READ_IN_ITERATION);
});

test('keeps a waiting connection for longer than an idle one', async () => {
  let requestMs = 0;
  const { port } = await serve(() => {
    const startedAtMs = performance.now();
    while (performance.now() - startedAtMs < requestMs);
    return false;
  });
  const connections = connectAll(port);
  await insist(connections, 1);
  requestMs = (1.5 * (KEEP_ALIVE_MS + KEEP_ALIVE_BUFFER_MS)) / CONNECTIONS;
  expect(await insist(connections, 2)).toEqual(Array(CONNECTIONS * 2).fill('503'));
});
