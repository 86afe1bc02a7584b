import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { limitConnections } from 'instep/src/server/connections.ts';
import { expect, onTestFinished, test } from 'vitest';
import {
  openConnection,
  type RawConnection,
  statusesIn,
} from '../support/network/raw-connection.ts';

const ASK = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const HALF = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{';

/** A server with a limit of connections, which answers on the test's command. */
async function serve(maxConnections: number) {
  let crowded = 0;
  let answer = () => {};
  let answering = Promise.resolve();
  const server = createServer((request, response) => {
    request.on('error', () => undefined).resume();
    request.on('end', () => void answering.then(() => response.end('ok')));
  });
  limitConnections(server, {
    maxConnections,
    onCrowded: () => {
      crowded += 1;
    },
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    get crowded() {
      return crowded;
    },
    hold() {
      answering = new Promise((resolve) => {
        answer = resolve;
      });
    },
    answer: () => answer(),
    /** A connection that the server has accepted, with this text received. */
    async open(text = ''): Promise<RawConnection> {
      const taken = once(server, 'connection');
      const asked = text === '' ? taken : once(server, 'request');
      const connection = openConnection(url);
      connection.write(text);
      await Promise.all([taken, asked]);
      return connection;
    },
    /** A connection that was answered this many times. */
    async openIdle(times = 1): Promise<RawConnection> {
      const connection = openConnection(url);
      for (let time = 1; time <= times; time += 1) {
        connection.write(ASK);
        await connection.receives(new RegExp(`^(HTTP[^]*?ok){${time}}$`));
      }
      return connection;
    },
  };
}

async function expectAnswered(connection: RawConnection): Promise<void> {
  connection.write(ASK);
  expect(statusesIn(await connection.receives(/ok$/)).at(-1)).toBe(200);
}

test.each([
  ['sends nothing', ''],
  ['sends half a body', HALF],
])('a new connection replaces the oldest one that %s', async (_, text) => {
  const server = await serve(4);
  const waiting = [];
  for (let count = 0; count < 4; count += 1) waiting.push(await server.open(text));
  expect(server.crowded).toBe(0);
  await expectAnswered(await server.open());
  await waiting[0]?.closed();
  expect(server.crowded).toBe(1);
  for (const other of waiting.slice(1)) expect(other.received).toBe('');
  await expectAnswered(await server.open());
  await waiting[1]?.closed();
});

test('a new connection replaces the longest idle one that was used once', async () => {
  const server = await serve(4);
  const kept = await server.openIdle(2);
  const idle = [await server.openIdle(), await server.openIdle(), await server.openIdle()];
  for (const former of idle) {
    await server.openIdle();
    await former.closed();
  }
  await expectAnswered(kept);
  expect(server.crowded).toBe(3);
});

test("connections without a request don't displace idle ones in the other half of the places", async () => {
  const server = await serve(4);
  const idle = [await server.openIdle(), await server.openIdle()];
  for (let count = 0; count < 20; count += 1) await server.open();
  for (const connection of idle) await expectAnswered(connection);
});

test("idle connections don't prevent others from being answered", async () => {
  const server = await serve(4);
  for (let count = 0; count < 20; count += 1) await server.openIdle(3);
  await expectAnswered(await server.open());
});

test('a request that has arrived completely is answered, and new connections are refused', async () => {
  const server = await serve(2);
  server.hold();
  const asking = [await server.open(ASK), await server.open(ASK)];
  const refused = await server.open();
  expect(await refused.closed()).toBe('');
  server.answer();
  for (const connection of asking) await connection.receives(/ok$/);
  await expectAnswered(await server.open());
});
