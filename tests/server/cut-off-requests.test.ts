import type { ApplicationId } from 'instep';
import { signWebhook } from 'instep/testing';
import { afterEach, expect, test } from 'vitest';
import { openConnection, statusesIn } from '../support/network/raw-connection.ts';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { NO_PLAN, useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const service = useService();

/** Checks that the server still works. */
afterEach(async () => {
  const { id } = await service.addUser();
  const profile = await service.getUser(await service.cookieOf(id));
  expect(await profile.json()).toMatchObject({ id });
  const { teamId, customerId } = await service.addTeam();
  expect((await service.postSigned(eventBody({ customerId }))).status).toBe(200);
  expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
});

/** The head and the body of a signed webhook. */
function signedRequest(customerId: string, headers: (body: string) => string): [string, string] {
  const body = eventBody({ customerId });
  const signature = signWebhook(body, WEBHOOK_SECRET, Date.now());
  const lines = ['POST /api/stripe/webhook HTTP/1.1', 'Host: x', `Stripe-Signature: ${signature}`];
  return [`${lines.join('\r\n')}\r\n${headers(body)}\r\n\r\n`, body];
}

const declared = (body: string) => `Content-Length: ${body.length}`;
const chunked = () => 'Transfer-Encoding: chunked';
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

async function expectUntouched({
  teamId,
  customerId,
}: {
  teamId: ApplicationId;
  customerId: string;
}) {
  expect(await service.planOf(teamId)).toEqual(NO_PLAN);
  const rows = await service.database.query('select from instep.events where customer_id = $1', [
    customerId,
  ]);
  expect(rows).toEqual([]);
}

test.each([
  ['in the middle', 0.5],
  ['before the last byte', 0.999],
])('a body that is cut off %s changes nothing', async (_, share) => {
  for (const headers of [declared, chunked]) {
    for (const ending of ['halfClose', 'destroy'] as const) {
      const team = await service.addTeam();
      const [head, body] = signedRequest(team.customerId, headers);
      const part = body.slice(0, Math.floor(body.length * share));
      const connection = openConnection(service.url);
      connection.write(head + (headers === chunked ? chunk(part) : part));
      await new Promise((resolve) => setTimeout(resolve, 50));
      connection[ending]();
      for (const status of statusesIn(await connection.closed())) {
        expect([400, 408]).toContain(status);
      }
      await expectUntouched(team);
    }
  }
});
