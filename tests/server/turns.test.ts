import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { withAdmission } from '../../src/server/admission.ts';
import { Turns } from '../../src/server/turns.ts';

const PATH = '/events';
const CONNECTIONS = 60;
const ROUNDS = 5;
/** Eight are let go on in a turn; what they say may come with what the eight before them say. */
const HEARD_IN_A_TURN = 16;
/** How long a connection may be idle, and how much longer Node lets it be. */
const KEPT_MS = 100;
const KEPT_BESIDES_MS = 1_000;

const POST = `POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello`;

const open = new Set<{ close(): unknown } | Socket>();
afterEach(() => {
  for (const one of open) 'destroy' in one ? one.destroy() : one.close();
  open.clear();
});

/** Counts the turns of the event loop. */
function countTurns(): () => number {
  let turn = 0;
  function next(): void {
    turn += 1;
    pending = setImmediate(next);
  }
  let pending = setImmediate(next);
  open.add({ close: () => clearImmediate(pending) });
  return () => turn;
}

/** A server that takes as many as `admit` says, and in which turns it heard events. */
async function serve(admit: () => boolean) {
  const turnOf = countTurns();
  const turns = new Turns();
  const heard: number[] = [];
  const admission = withAdmission((_, response) => response.end('{}'), {
    path: PATH,
    admit: () => {
      heard.push(turnOf());
      return admit();
    },
    turns,
  });
  const server = createServer({ keepAliveTimeout: KEPT_MS }, admission).listen(0, '127.0.0.1');
  server.on('connection', () => turns.welcome());
  open.add(server);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, heard };
}

/** Sends a request on each connection as soon as it was answered the last one; tells the statuses. */
async function insist(connections: readonly Socket[], times: number): Promise<string[]> {
  const statuses = connections.map(async (connection) => {
    const statuses: string[] = [];
    for (let time = 0; time < times; time += 1) {
      connection.write(POST);
      const [answer] = await once(connection, 'data');
      statuses.push(String(answer).slice(9, 12));
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

/** The same on many connections, all of which were taken before; then all begin in one turn. */
async function flood(port: number): Promise<string[]> {
  const connections = connectAll(port);
  return [...(await insist(connections, 1)), ...(await insist(connections, ROUNDS - 1))];
}

/** How many were heard in one turn at most, after each was heard twice. */
function mostInTurn(heard: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const turn of heard.slice(2 * CONNECTIONS)) counts.set(turn, (counts.get(turn) ?? 0) + 1);
  return Math.max(...counts.values());
}

test('those that were refused are heard again a few in a turn, and each of them in the end', async () => {
  const { port, heard } = await serve(() => false);
  const statuses = await flood(port);
  expect(statuses).toEqual(Array(CONNECTIONS * ROUNDS).fill('503'));
  expect(heard).toHaveLength(CONNECTIONS * ROUNDS);
  expect(mostInTurn(heard)).toBeLessThanOrEqual(HEARD_IN_A_TURN);
});

test('while they wait, those that are let in take turns as well', async () => {
  let count = 0;
  const { port, heard } = await serve(() => {
    count += 1;
    return count % 2 === 0;
  });
  const statuses = await flood(port);
  expect(new Set(statuses)).toEqual(new Set(['200', '503']));
  expect(mostInTurn(heard)).toBeLessThanOrEqual(HEARD_IN_A_TURN);
});

test('whoever is let in when nobody waits takes no turns', async () => {
  const { port, heard } = await serve(() => true);
  const statuses = await flood(port);
  expect(new Set(statuses)).toEqual(new Set(['200']));
  expect(mostInTurn(heard)).toBeGreaterThan(HEARD_IN_A_TURN);
});

test('whoever waits longer for a turn than a connection may be idle is heard all the same', async () => {
  let turnMs = 0;
  const { port } = await serve(() => {
    const beganAtMs = performance.now();
    while (performance.now() - beganAtMs < turnMs);
    return false;
  });
  const connections = connectAll(port);
  await insist(connections, 1);
  turnMs = (1.5 * (KEPT_MS + KEPT_BESIDES_MS)) / CONNECTIONS;
  expect(await insist(connections, 2)).toEqual(Array(CONNECTIONS * 2).fill('503'));
});
