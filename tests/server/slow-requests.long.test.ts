import { signWebhook } from 'instep/testing';
import { expect, test } from 'vitest';
import {
  openConnection,
  type RawConnection,
  statusesIn,
} from '../support/network/raw-connection.ts';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { NO_PLAN, useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const service = useService();

/** Without a well-formed signature, the body would not be read. */
const WELL_FORMED_SIGNATURE = `Stripe-Signature: t=1,v1=${'0'.repeat(64)}`;

const postWith = (...headers: string[]) =>
  `POST /api/stripe/webhook HTTP/1.1\r\nHost: x\r\n${headers.join('\r\n')}\r\n\r\n`;

/** Writes single bytes with pauses, until the server closes the connection. */
async function drip(connection: RawConnection, bytes: string): Promise<string> {
  let position = 0;
  const timer = setInterval(() => {
    connection.write(bytes.charAt(position % bytes.length));
    position += 1;
  }, 200);
  try {
    return await connection.closed();
  } finally {
    clearInterval(timer);
  }
}

/** Expects 408 or no response. The connection is closed in both cases. */
function expectTooSlow(received: string): void {
  for (const status of statusesIn(received)) expect(status).toBe(408);
}

test.concurrent.each([
  ['no request', '', ''],
  ['a head that never ends', 'GET /api/user HTTP/1.1\r\nHost: x\r\n', 'X-Slow: x\r\n'],
  ['chunks', postWith('Transfer-Encoding: chunked', WELL_FORMED_SIGNATURE), '1\r\nx\r\n'],
])('closes a connection that takes too long: %s', async (_, head, slow) => {
  const connection = openConnection(service.url);
  connection.write(head);
  expectTooSlow(await (slow === '' ? connection.closed() : drip(connection, slow)));
});

test.concurrent('a body that takes too long changes nothing, and its connection is closed', async () => {
  const { teamId, customerId } = await service.addTeam();
  const body = eventBody({ customerId });
  const signature = `Stripe-Signature: ${signWebhook(body, WEBHOOK_SECRET, Date.now())}`;
  const connection = openConnection(service.url);
  connection.write(postWith(`Content-Length: ${body.length}`, signature));
  expectTooSlow(await drip(connection, body));
  expect(await service.planOf(teamId)).toEqual(NO_PLAN);
});

test.concurrent("100 slow senders don't delay others", async () => {
  const slow = Array.from({ length: 100 }, () => openConnection(service.url));
  const begun = `${postWith('Content-Length: 100', WELL_FORMED_SIGNATURE)}{`;
  for (const connection of slow) connection.write(begun);
  const { id } = await service.addUser();
  const cookie = await service.cookieOf(id);
  const { teamId, customerId } = await service.addTeam();
  for (let round = 0; round < 10; round += 1) {
    const signal = AbortSignal.timeout(5_000);
    const profile = await fetch(`${service.url}/api/user`, { headers: { cookie }, signal });
    expect(await profile.json()).toMatchObject({ id });
    expect((await service.postSigned(eventBody({ customerId }))).status).toBe(200);
  }
  expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
  for (const received of await Promise.all(slow.map((connection) => connection.closed()))) {
    expectTooSlow(received);
  }
});
