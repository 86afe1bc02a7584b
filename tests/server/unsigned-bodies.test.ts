import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { readBody, UnfinishedBodies } from 'instep-engine/src/http/read-body.ts';
import { expect, test } from 'vitest';
import {
  exchange,
  openConnection,
  type RawConnection,
  statusesIn,
} from '../support/network/raw-connection.ts';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const service = useService();

const MEBIBYTE = 1_048_576;
/** The number of bodies that fit into the memory for unfinished ones. */
const THAT_FIT = 32;

const head = (signature: string) =>
  `POST /api/stripe/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: ${MEBIBYTE}\r\n${signature}\r\n`;

test.each([
  ['no signature', ''],
  ['an empty signature', 'Stripe-Signature:\r\n'],
  ['a signature without a time', `Stripe-Signature: v1=${'0'.repeat(64)}\r\n`],
  ['a signature of another scheme', `Stripe-Signature: t=1,v0=${'0'.repeat(64)}\r\n`],
  ['a signature of another length', 'Stripe-Signature: t=1,v1=00\r\n'],
])('a request with %s is answered 400 before its body has arrived', async (_, signature) => {
  const connection = openConnection(service.url);
  connection.write(head(signature));
  const received = await connection.receives(/\}$/);
  expect(statusesIn(received)).toEqual([400]);
  expect(received).toContain('{"error":"Webhook signature verification failed."}');
  connection.destroy();
});

test('a request without a signature can be followed by another one on its connection', async () => {
  const event = 'POST /api/stripe/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello';
  const last = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  expect(statusesIn(await exchange(service.url, event + last))).toEqual([400, 200]);
});

test('the oldest of many unfinished bodies make room for the others', async () => {
  const signature = `Stripe-Signature: t=1,v1=${'0'.repeat(64)}\r\n`;
  const part = ' '.repeat(MEBIBYTE - 1);
  const connections: RawConnection[] = [];
  for (let count = 0; count < THAT_FIT + 20; count += 1) {
    const connection = openConnection(service.url);
    connection.write(head(signature));
    // A server in another process can read two heads in any order, if both have arrived.
    await fetch(`${service.url}/healthz`, { headers: { connection: 'close' } });
    connection.write(part);
    connections.push(connection);
  }
  // They are closed at once, not with the 408 of a request that takes too long.
  for (const connection of connections.slice(0, 20)) expect(await connection.closed()).toBe('');
  const { teamId, customerId } = await service.addTeam();
  expect((await service.postSigned(eventBody({ customerId }))).status).toBe(200);
  expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
  for (const connection of connections) connection.destroy();
});

test('the oldest of too many bodies makes room, however little of each has arrived', async () => {
  const unfinished = new UnfinishedBodies();
  const aborted: number[] = [];
  for (let number = 0; number < 1_002; number += 1) unfinished.begin(() => aborted.push(number));
  expect(aborted).toEqual([0, 1]);
});

test('a body over the limit is not kept while its sender stays connected', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  let first: WeakRef<Uint8Array> | undefined;
  const onChunks: ((chunk: Uint8Array) => boolean)[] = [];
  const source = {
    declaredLength: null,
    unfinished: new UnfinishedBodies(),
    read(onChunk: (chunk: Uint8Array) => boolean) {
      const chunk = new Uint8Array(10);
      first = new WeakRef(chunk);
      onChunks.push(onChunk);
      onChunk(chunk);
      onChunk(new Uint8Array(10));
      return new Promise(() => undefined);
    },
    abort: () => undefined,
  };
  await expect(readBody(source, 15)).rejects.toMatchObject({ status: 413 });
  await new Promise(setImmediate);
  collectGarbage();
  expect(first?.deref()).toBeUndefined();
  expect(onChunks[0]?.(new Uint8Array(10))).toBe(false);
});
