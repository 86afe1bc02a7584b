import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { createLogger, type Instep, listen, type RunningServer, readConfig } from 'instep';
import { openService } from 'instep/src/instep.ts';
import { signWebhook, startFakeStripeApi } from 'instep/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Database } from '../support/internals/database.ts';
import { addTeam } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { SETTINGS } from '../support/process/instep-process.ts';
import { HEADERS, WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { eventBody } from '../support/stripe/events.ts';
import { idOf, recordSpans } from '../support/tracing/recorded-spans.ts';

type Line = Readonly<Record<string, unknown>>;

const account = { productNames: { prod_traced: 'Traced' } };
const lines: Line[] = [];
const logger = createLogger('debug', { write: (line) => void lines.push(JSON.parse(line)) });
let api: Awaited<ReturnType<typeof startFakeStripeApi>>;
let database: Database;
let instep: Instep;
let server: RunningServer;
let spans: ReturnType<typeof recordSpans>;

beforeAll(async () => {
  api = await startFakeStripeApi(account);
  const created = await createDatabase();
  database = created.database;
  const config = readConfig({
    ...SETTINGS,
    DATABASE_URL: created.url.href,
    STRIPE_API_BASE: api.url,
    REQUEST_DEADLINE_MS: '2000',
  });
  instep = await openService({ config, logger });
  server = await listen({ ...config, handle: instep.handle, logger });
  await actsWithoutSdk();
  // An SDK can be registered before our start or after it.
  spans = recordSpans();
});

afterAll(async () => {
  await server?.close(1_000);
  await instep?.close();
  await api?.close();
});

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const CALLER_ID = 'b7ad6b7169203331';
const TRACEPARENT = `00-${TRACE_ID}-${CALLER_ID}-01`;
const WEBHOOK = 'POST /api/stripe/webhook';

async function post(body: string, headers: Record<string, string> = {}): Promise<number> {
  const signature = signWebhook(body, WEBHOOK_SECRET, Date.now());
  const answer = await fetch(`${server.url}/api/stripe/webhook`, {
    method: 'POST',
    body,
    headers: { ...HEADERS, 'stripe-signature': signature, ...headers },
  });
  return answer.status;
}

let count = 0;

async function newTeam() {
  count += 1;
  const customerId = `cus_traced${count}`;
  return { teamId: await addTeam(database.query, { name: 'Team', customerId }), customerId };
}

/** The line with these members, and the span that it names. */
async function lineWith(members: Line) {
  const line = await vi.waitFor(() => {
    const found = lines.find((line) => Object.entries(members).every(([k, v]) => line[k] === v));
    if (found === undefined) throw new Error('no such line');
    return found;
  });
  return { line, isOfIt: (span: Parameters<typeof idOf>[0]) => idOf(span) === line.spanId };
}

let linesWithoutSdk: readonly Line[] = [];

async function actsWithoutSdk(): Promise<void> {
  const { customerId } = await newTeam();
  expect(await post(eventBody({ customerId }), { traceparent: TRACEPARENT })).toBe(200);
  expect(await post('{}', { 'stripe-signature': 't=1,v1=0' })).toBe(400);
  linesWithoutSdk = [...lines];
}

test('without an SDK requests are answered, and no log line names a trace', () => {
  expect(linesWithoutSdk.map(({ msg }) => msg)).toEqual(
    expect.arrayContaining(['event', 'webhook signature verification failed']),
  );
  for (const line of linesWithoutSdk) {
    expect(line).not.toHaveProperty('traceId');
    expect(line).not.toHaveProperty('spanId');
  }
});

describe('a request', () => {
  test('is a span of the trace that its caller names', async () => {
    const { customerId } = await newTeam();
    const body = eventBody({ customerId, eventId: 'evt_named' });
    expect(await post(body, { traceparent: TRACEPARENT })).toBe(200);
    const { line, isOfIt } = await lineWith({ eventId: 'evt_named' });
    const request = await spans.find(WEBHOOK, isOfIt);
    expect(request).toMatchObject({
      kind: SpanKind.SERVER,
      parentSpanContext: { traceId: TRACE_ID, spanId: CALLER_ID, isRemote: true },
      status: { code: SpanStatusCode.UNSET },
    });
    expect(request.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/api/stripe/webhook',
      'http.response.status_code': 200,
    });
    expect(line.traceId).toBe(TRACE_ID);
  });

  test('that fails marks its span with the class and code of the error', async () => {
    await database.query(
      `alter table teams add constraint objection check (subscription_status <> 'unpaid')`,
    );
    const { customerId } = await newTeam();
    expect(await post(eventBody({ customerId, status: 'unpaid' }))).toBe(503);
    await database.query('alter table teams drop constraint objection');
    const { isOfIt } = await lineWith({ msg: 'request failed' });
    const request = await spans.find(WEBHOOK, isOfIt);
    const failed = { 'exception.type': 'DatabaseRefused', 'error.type': 'DATABASE_REFUSED' };
    expect(request.attributes).toMatchObject({ ...failed, 'http.response.status_code': 503 });
    expect(request.status).toEqual({ code: SpanStatusCode.ERROR });
    const [batch] = spans.linkedWith(request);
    expect(batch).toMatchObject({ attributes: failed, status: { code: SpanStatusCode.ERROR } });
    const statement = batch && spans.partsOf(batch).find(({ name }) => name === 'write_events');
    expect(statement?.attributes['error.type']).toBe('23514');
  });
});

describe('a batch', () => {
  test('is a trace of its own, linked with its request, and contains its statements', async () => {
    const { customerId } = await newTeam();
    expect(await post(eventBody({ customerId, eventId: 'evt_batched' }))).toBe(200);
    const request = await spans.find(WEBHOOK, (await lineWith({ eventId: 'evt_batched' })).isOfIt);
    const [batch, ...others] = spans.linkedWith(request);
    if (batch === undefined) throw new Error('no batch');
    expect(others).toEqual([]);
    expect(batch.name).toBe('process events');
    expect(batch.parentSpanContext).toBeUndefined();
    expect(batch.attributes).toEqual({ 'messaging.batch.message_count': 1 });
    const statements = spans.partsOf(batch);
    expect(statements.map(({ name }) => name)).toEqual(['read_customers', 'write_events']);
    for (const { name, kind, attributes } of statements) {
      expect(kind).toBe(SpanKind.CLIENT);
      expect(attributes).toEqual({ 'db.system.name': 'postgresql', 'db.query.summary': name });
    }
  });
});

test('no span contains personal data, an id or a secret', () => {
  const all = spans.all().map(({ name, attributes, events, status, links }) => {
    return JSON.stringify({ name, attributes, events, status, links });
  });
  expect(all.length).toBeGreaterThan(0);
  expect(all.filter((span) => /canary|evt_|cus_|sub_|prod_|v1=|eyJ|\$\d/.test(span))).toEqual([]);
});
