import { signWebhook } from 'instep/testing';
import { afterAll, expect, test, vi } from 'vitest';
import { addTeam } from '../support/internals/rows.ts';
import { issueSession } from '../support/internals/sessions.ts';
import { startProxy, type TcpProxy } from '../support/network/tcp-proxy.ts';
import { lockTeam, whileHeld } from '../support/postgres/locks.ts';
import { AUTH_SECRET, HEADERS, PROFILE, WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';
import { useStripeApis } from '../support/stripe/stripe-apis.ts';

/** Must not be in any line, like the values in `test-secrets.ts`. */
const IN_COOKIE = 'canaryCookie';
const IN_QUERY = 'canaryQuery';
const IN_PAYLOAD = 'canaryPayload';

const apis = useStripeApis();
/** Stripe's own errors repeat a part of the key; this one repeats all of it. */
const api = await apis.startWith((request, response) => {
  const error = { type: 'invalid_request_error', message: request.headers.authorization };
  response.writeHead(401).end(JSON.stringify({ error }));
});

let proxy: TcpProxy;
const service = useService(
  {
    STRIPE_API_BASE: api.url,
    REQUEST_DEADLINE_MS: '1000',
    LOG_LEVEL: 'trace',
  },
  async (databaseUrl) => {
    proxy = await startProxy(databaseUrl);
    return proxy.url;
  },
);
afterAll(() => proxy?.close());

const sign = (body: string) => signWebhook(body, WEBHOOK_SECRET, Date.now());

/** Posts a body with canaries in all headers that a sender controls. */
function post(body: string, signature = sign(body)): Promise<Response> {
  const headers = { ...HEADERS, cookie: `session=${IN_COOKIE}` };
  const url = `${service.url}/api/stripe/webhook?token=${IN_QUERY}`;
  return fetch(url, {
    method: 'POST',
    body,
    headers: { ...headers, 'stripe-signature': signature },
  });
}

/** An event with these members in its subscription. */
function bodyWith(fields: Parameters<typeof eventBody>[0], members: object = {}): string {
  const event = JSON.parse(eventBody(fields));
  Object.assign(event.data.object, members);
  return JSON.stringify(event);
}

/** All lines until now. Each must be one JSON object, and contain nothing that could forge another line. */
function linesUntilNow(): Record<string, unknown>[] {
  return service.process.stdoutLines.map((line) => {
    expect(line).not.toMatch(/\p{Cc}|[\u2028\u2029]/u);
    const entry = JSON.parse(line);
    expect(entry).toMatchObject({ level: expect.any(String), time: expect.any(String) });
    return entry;
  });
}

async function lineOf(eventId: string): Promise<Record<string, unknown>> {
  const find = () => {
    // A busy database lets an event wait, which is a line of its own.
    const lines = linesUntilNow().filter(
      (line) => line.eventId === eventId && line.level !== 'debug',
    );
    expect(lines).toHaveLength(1);
    return lines[0] ?? {};
  };
  return await vi.waitFor(find, { timeout: 5_000 });
}

test('writes one line per event with its id, type, customer, teams, outcome and duration', async () => {
  const { teamId, customerId } = await service.addTeam();
  const unmatched = 'cus_log_unmatched';
  const expected = [
    ['evt_log_1', 'applied', { customerId, createdSeconds: 20 }],
    ['evt_log_2', 'stale', { customerId, createdSeconds: 10 }],
    ['evt_log_3', 'unchanged', { customerId, createdSeconds: 30, status: 'past_due' }],
    ['evt_log_4', 'parked', { customerId: unmatched }],
  ] as const;
  for (const [eventId, outcome, fields] of expected) {
    expect((await post(bodyWith({ ...fields, eventId }))).status).toBe(200);
    expect(await lineOf(eventId)).toEqual({
      level: outcome === 'parked' ? 'error' : 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      eventId,
      type: 'customer.subscription.updated',
      customerId: fields.customerId,
      teamIds: outcome === 'parked' ? [] : [teamId],
      outcome,
      durationMs: expect.any(Number),
      msg: outcome === 'parked' ? 'team not found' : 'event',
    });
  }
});

test('names the account that a team has stored in place of the customer', async () => {
  const { query } = service.database;
  const teamId = await addTeam(query, { name: 'Team', customerId: 'acct_log' });
  for (const [eventId, accountId, expected] of [
    ['evt_account_1', 'acct_log', { accountId: 'acct_log', accountTeamIds: [teamId] }],
    ['evt_account_2', 'acct_of_nobody', { outcome: 'parked' }],
  ] as const) {
    const event = JSON.parse(bodyWith({ eventId, customerId: `cus_of_${accountId}` }));
    event.data.object.customer_account = accountId;
    expect((await post(JSON.stringify(event))).status).toBe(200);
    const line = await lineOf(eventId);
    expect(line).toMatchObject({ msg: 'team not found', customerId: `cus_of_${accountId}` });
    expect(line).toMatchObject(expected);
    if (!('accountId' in expected)) expect(line).not.toHaveProperty('accountId');
  }
});

const FORGED = '\r\n{"level":"fatal","msg":"forged"}\u001b[31m\u0085\u009b31m\u2028\u2029\u007f';

test("an event's id can't forge a line", async () => {
  const customerId = `cus_${FORGED}`;
  const before = linesUntilNow().length;
  for (const [body, eventId] of [
    [bodyWith({ eventId: `evt_1${FORGED}`, customerId }), `evt_1${FORGED}`],
    [bodyWith({ eventId: `evt_2${FORGED}\0`, customerId }), `evt_2${FORGED}\uFFFD`],
    [bodyWith({ eventId: `evt_3${FORGED}`, type: `invoice${FORGED}` }), `evt_3${FORGED}`],
    [JSON.stringify({ id: `evt_4${FORGED}`, type: 7 }), `evt_4${FORGED}`],
  ] as const) {
    expect((await post(body)).status).toBe(200);
    expect(await lineOf(eventId)).not.toMatchObject({ level: 'fatal' });
  }
  expect(linesUntilNow().filter((line) => line.msg === 'forged')).toEqual([]);
  const forged = linesUntilNow().slice(before);
  expect(forged.filter((line) => String(line.eventId).includes('forged'))).toHaveLength(4);
});

test('writes no secret, cookie, e-mail address or payload in any failure', async () => {
  const { database } = service;
  const [row] = await database.query<{ id: number }>(
    'insert into users (email, name, password_hash) values ($1, $2, $3) returning id',
    [PROFILE.email, PROFILE.name, PROFILE.passwordHash],
  );
  const lifetime = { nowMs: Date.now(), lifetimeMs: 60_000 };
  const token = await issueSession(row?.id ?? 0, AUTH_SECRET, lifetime);
  const { teamId, customerId } = await service.addTeam();
  const body = () => bodyWith({ customerId });
  const profile = () => service.getUser(`session=${token}; other=${IN_COOKIE}`);
  const signature = sign(body());
  const statuses: number[] = [];
  const note = async (answer: Promise<Response>) => statuses.push((await answer).status);

  await note(profile());
  await note(service.getUser(`session=${token}x`));
  await note(post(body()));
  await note(post(body(), signature));
  await note(post(IN_PAYLOAD));
  for (const odd of [
    { status: { secret: IN_PAYLOAD } },
    { customer: `${IN_PAYLOAD}\0` },
    { customer: IN_PAYLOAD.repeat(30) },
    { items: IN_PAYLOAD },
    { items: { data: [IN_PAYLOAD] } },
    { items: { data: [{ plan: { product: [IN_PAYLOAD] } }] } },
  ]) {
    await note(post(bodyWith({ customerId }, odd)));
  }
  await note(post(JSON.stringify({ type: [IN_PAYLOAD], data: IN_PAYLOAD })));
  await note(fetch(`${service.url}/${IN_QUERY}?${IN_QUERY}`));
  expect(statuses).toEqual([200, 200, 200, 400, 400, 200, 200, 200, 200, 200, 200, 200, 404]);

  await database.query('alter table teams add constraint objection check (plan_name is null)');
  const named = { plan: { product: { id: 'prod_1', name: 'Gold' } } };
  expect((await post(bodyWith({ customerId }, { items: { data: [named] } }))).status).toBe(200);
  await database.query('alter table teams drop constraint objection');
  await database.query(
    `alter table teams add constraint objection check (subscription_status <> 'unpaid')`,
  );
  const refused = { eventId: 'evt_refused', customerId, status: 'unpaid' };
  expect((await post(bodyWith(refused))).status).toBe(503);
  expect(await lineOf('evt_refused')).toMatchObject({
    msg: 'request failed',
    path: '/api/stripe/webhook',
    type: 'customer.subscription.updated',
    customerId,
    teamIds: [teamId],
    err: { code: 'DATABASE_REFUSED' },
  });
  await database.query('alter table teams drop constraint objection');
  await whileHeld(database, lockTeam(teamId), async () => {
    expect((await post(body())).status).toBe(503);
  });
  await whileHeld(database, 'lock table users in access exclusive mode', async () => {
    expect((await profile()).status).toBe(503);
  });
  for (const behavior of ['reset', 'refuse', 'swallow'] as const) {
    await proxy.become(behavior);
    expect((await post(body())).status).toBe(503);
    expect((await profile()).status).toBe(503);
    expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
  }
  await proxy.become('forward');
  await service.process.stop();

  const lines = service.process.lines.join('\n');
  // Makes sure that all of these failures happened.
  for (const logged of [
    'DATABASE_REFUSED',
    'DATABASE_BUSY',
    'DATABASE_UNAVAILABLE',
    'DEADLINE_EXCEEDED',
    'SIGNATURE_INVALID',
    'BODY_NOT_JSON',
    'STRIPE_API_FAILED',
    'stored without the plan name',
    'event unreadable',
    'body is not an event',
    'not ready',
  ]) {
    expect(lines).toContain(logged);
  }
  expect(linesUntilNow().length).toBe(service.process.lines.length);
  for (const part of token.split('.')) expect(lines).not.toContain(part);
  expect(lines).not.toContain(signature.split('v1=')[1]);
  expect(lines).not.toMatch(/canary/i);
});
