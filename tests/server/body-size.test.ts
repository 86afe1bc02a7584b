import { signWebhook } from 'instep/testing';
import { expect, test } from 'vitest';
import { exchange, openConnection, statusesIn } from '../support/network/raw-connection.ts';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { NO_PLAN, useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const LIMIT_BYTES = 4_096;
const service = useService({ MAX_BODY_BYTES: String(LIMIT_BYTES) });
const PATH = '/api/stripe/webhook';

/** A valid event of this size. Spaces at its end are valid JSON. */
function bodyOf(customerId: string, bytes: number): string {
  return eventBody({ customerId }).padEnd(bytes, ' ');
}

function sign(body: string): Record<string, string> {
  return { 'stripe-signature': signWebhook(body, WEBHOOK_SECRET, Date.now()) };
}

/** Sends a body in chunks, without a declared length. */
function postInParts(body: string, partBytes: number): Promise<Response> {
  const bytes = Buffer.from(body);
  let sent = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(sent, sent + partBytes));
      sent += partBytes;
    },
  });
  const init = { method: 'POST', body: stream, headers: sign(body), duplex: 'half' as const };
  return fetch(service.url + PATH, init);
}

const ways: [string, (body: string) => Promise<Response>][] = [
  ['with its length declared', (body) => service.postSigned(body)],
  ['in one chunk', (body) => postInParts(body, body.length)],
  ['in chunks of 100 bytes', (body) => postInParts(body, 100)],
];

async function storedBytes(customerId: string): Promise<number[]> {
  const rows = await service.database.query<{ size: number }>(
    'select octet_length(body) as size from instep.events where customer_id = $1',
    [customerId],
  );
  return rows.map(({ size }) => size);
}

test.each(ways)('stores a body of exactly the limit: %s', async (_, post) => {
  const { teamId, customerId } = await service.addTeam();
  const response = await post(bodyOf(customerId, LIMIT_BYTES));
  expect(response.status).toBe(200);
  expect(await storedBytes(customerId)).toEqual([LIMIT_BYTES]);
  expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
});

test.each(ways)('answers 413 to one byte more, and stores nothing: %s', async (_, post) => {
  const { teamId, customerId } = await service.addTeam();
  const response = await post(bodyOf(customerId, LIMIT_BYTES + 1));
  expect(response.status).toBe(413);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(await response.json()).toEqual({ error: 'The body is larger than 4096 bytes.' });
  expect(await storedBytes(customerId)).toEqual([]);
  expect(await service.planOf(teamId)).toEqual(NO_PLAN);
});

/** The head of a request with a well-formed signature. */
const headWith = (header: string) =>
  `POST ${PATH} HTTP/1.1\r\nHost: x\r\nStripe-Signature: t=1,v1=${'0'.repeat(64)}\r\n${header}\r\n\r\n`;

test('answers 413 to a declared length over the limit before the body arrives', async () => {
  const received = await exchange(service.url, headWith('Content-Length: 9999999999'));
  expect(statusesIn(received)).toEqual([413]);
});

test('answers 413 to endless chunks as soon as they exceed the limit', async () => {
  const connection = openConnection(service.url);
  connection.write(headWith('Transfer-Encoding: chunked'));
  connection.write(`${(LIMIT_BYTES + 1).toString(16)}\r\n${' '.repeat(LIMIT_BYTES + 1)}\r\n`);
  expect(statusesIn(await connection.closed())).toEqual([413]);
});
