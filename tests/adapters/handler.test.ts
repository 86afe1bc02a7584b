import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createHandler,
  createLogger,
  type FetchHandler,
  type HandlerOptions,
  readConfig,
} from 'instep';
import { signWebhook } from 'instep/testing';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { addTeam, addUser, readTeam } from '../support/internals/rows.ts';
import { startProxy } from '../support/network/tcp-proxy.ts';
import { untilWaiting } from '../support/postgres/locks.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { SETTINGS, webhookRequest } from '../support/process/instep-process.ts';
import { PROFILE, WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { sessionCookie } from '../support/service/session-cookie.ts';
import { eventBody } from '../support/stripe/events.ts';

const { url, database } = await createDatabase();
const environment: Record<string, string> = { ...SETTINGS, DATABASE_URL: url.href };

const lines: string[] = [];
const logger = createLogger('info', { write: (line) => lines.push(line) });

const open = new Set<FetchHandler>();
function create(options: HandlerOptions = {}): FetchHandler {
  const handler = createHandler({ environment, logger, maintenance: 'off', ...options });
  open.add(handler);
  return handler;
}
afterEach(async () => {
  for (const handler of open) await handler.close();
  open.clear();
  lines.length = 0;
});

const userRequest = (cookie = '', path = '/api/user') =>
  new Request(`http://localhost${path}`, { headers: { cookie } });

const signatureOf = (body: string, atMs = Date.now()) => signWebhook(body, WEBHOOK_SECRET, atMs);

/** A body of this size, in chunks of a byte, that never ends. */
function endlessBody(bytes: number): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (sent === bytes) await new Promise(() => undefined);
      controller.enqueue(Buffer.from('x'));
      sent += 1;
    },
  });
}

let count = 0;
async function newTeam() {
  count += 1;
  const customerId = `cus_handler${count}`;
  const teamId = await addTeam(database.query, { name: 'Team', customerId });
  const plan = async () => (await readTeam(database.query, teamId))?.plan;
  return { customerId, plan };
}

/** Less than an idle connection takes to end. */
const CLOSED_MS = 7_000;

/**
 * Waits until the handlers have this many connections: a backend ends after its connection. An idle connection that is
 * not closed ends after 10 s.
 */
async function untilConnected(connections: number): Promise<void> {
  await vi.waitFor(async () => {
    const others = await database.query(
      `select from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`,
    );
    expect(others).toHaveLength(connections);
  }, CLOSED_MS);
}

describe('a request', () => {
  test('for the user of a session is answered with the profile', async () => {
    const handler = create();
    const user = await addUser(database.query, { ...PROFILE, role: 'member' });
    const response = await handler(userRequest(await sessionCookie(user.id)));
    expect(await response.json()).toMatchObject({ id: user.id, email: PROFILE.email });
    expect(lines[0]).toContain('using database');
  });

  test('with a signed event changes the team', async () => {
    const { customerId, plan } = await newTeam();
    const response = await create()(webhookRequest(eventBody({ customerId })));
    expect([response.status, await response.json()]).toEqual([200, { received: true }]);
    expect(await plan()).toMatchObject({ subscriptionStatus: 'active' });
  });

  test('whose body was already read gets the cause, which is also logged', async () => {
    const request = webhookRequest(eventBody());
    await request.text();
    const response = await create()(request);
    expect(response.status).toBe(500);
    expect(await response.text()).toContain('mount Instep before express.json()');
    expect(lines.join()).toContain('BODY_ALREADY_READ');
  });

  test.each([
    ['declared', 'x'.repeat(1_025)],
    ['in chunks without an end', endlessBody(1_025)],
    ['that does not end in time', endlessBody(5)],
  ])('with a body that is too much is answered 413 or 408: %s', async (how, body) => {
    const handler = create({ environment: { ...environment, MAX_BODY_BYTES: '1024' } });
    // Opens the service before the clock stops.
    await handler(userRequest());
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const headers = { 'stripe-signature': signatureOf('') };
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
    let status = 0;
    void handler(new Request('http://localhost/api/stripe/webhook', init)).then((response) => {
      status = response.status;
    });
    while (status === 0) {
      await vi.advanceTimersByTimeAsync(10_000);
      await new Promise(setImmediate);
    }
    expect(status).toBe(how.includes('in time') ? 408 : 413);
  });

  test('is served at the paths of the options, and nowhere else', async () => {
    const handler = create({ paths: { user: '/me', readiness: '/ready' } });
    const statusOf = async (path: string) => (await handler(userRequest('', path))).status;
    expect(await statusOf('/m%65')).toBe(200);
    expect(await statusOf('/ready')).toBe(200);
    expect(await statusOf('/api/user')).toBe(404);
    expect(await statusOf('/healthz')).toBe(404);
  });
});

describe('the start', () => {
  test('happens on the first request, and is shared by all handlers of a configuration', async () => {
    const handlers = [create(), create(), create()];
    expect(lines).toEqual([]);
    await Promise.all(handlers.map((handler) => handler(userRequest())));
    const cookie = await sessionCookie(1);
    for (const handler of handlers) await handler(userRequest(cookie));
    expect(lines.filter((line) => line.includes('using database'))).toHaveLength(1);
    await untilConnected(1);
  });

  test('reads the whole configuration only once, and keeps no secret for it', async () => {
    const config = readConfig(environment);
    let times = 0;
    const toJSON = () => {
      times += 1;
      return { ...config };
    };
    const handler = create({ config: Object.assign({ ...config }, { toJSON }) });
    for (let request = 0; request < 3; request += 1) {
      expect((await handler(userRequest())).status).toBe(200);
    }
    expect(times).toBe(1);
    const keys = [...(globalThis.instepServices?.get(globalThis)?.keys() ?? [])];
    expect(keys.join()).not.toContain(WEBHOOK_SECRET);
  });

  test('is repeated after close', async () => {
    const handler = create();
    await handler(userRequest(await sessionCookie(1)));
    await handler.close();
    await untilConnected(0);
    expect((await handler(userRequest())).status).toBe(200);
  });

  test('leaves no connection after a close that fails', async () => {
    const warn = () => {
      throw new Error('planted');
    };
    const handler = create({ logger: { ...logger, warn } });
    const cookie = await sessionCookie(1);
    await handler(userRequest(cookie));
    // Both wait at the same time, on a connection each. A statement that fails can close its own.
    const holder = new pg.Client(url.href);
    await holder.connect();
    await holder.query('begin; lock table users, teams');
    const both = [handler(userRequest(cookie)), handler.access(1)];
    await untilWaiting(database, both.length);
    await holder.end();
    await Promise.all(both);
    await untilConnected(2);
    await database.query('alter table instep.refusals rename to moved');
    await handler(userRequest(cookie));
    await expect(handler.close()).rejects.toThrow('planted');
    await database.query('alter table instep.moved rename to refusals');
    await untilConnected(0);
  });

  test('that fails because of its configuration is answered with 503, and the log says what to set', async () => {
    const { AUTH_SECRET = '', ...incomplete } = environment;
    const handler = create({ environment: incomplete });
    const response = await handler(userRequest());
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('5');
    expect(response.headers.get('content-type')).toContain('text/plain');
    expect(lines.join()).toContain('AUTH_SECRET is missing');
    incomplete.AUTH_SECRET = AUTH_SECRET;
    expect((await handler(userRequest())).status).toBe(200);
  });

  test('that fails because of the database is tried again on the next request', async () => {
    const proxy = await startProxy(url);
    await proxy.become('refuse');
    const handler = create({ environment: { ...environment, DATABASE_URL: proxy.url.href } });
    expect((await handler(userRequest())).status).toBe(503);
    expect(lines.join()).toContain('DATABASE_UNAVAILABLE');
    await proxy.become('forward');
    expect((await handler(userRequest())).status).toBe(200);
    await handler.close();
    await proxy.close();
  });
});

describe('ingest', () => {
  test('accepts a webhook that waited in a queue, by its time of receipt', async () => {
    const body = eventBody();
    const receivedAt = new Date(Date.now() - 3_600_000);
    const signature = signatureOf(body, receivedAt.getTime());
    const handler = create();
    await expect(handler.ingest(body, signature)).rejects.toThrow('older than 300 seconds');
    await expect(
      handler.ingest(body, signature, { receivedAt: new Date(Number.NaN) }),
    ).rejects.toMatchObject({ code: 'SIGNATURE_INVALID' });
    await handler.ingest(body, signature, { receivedAt });
  });
});

describe("the app's own pool", () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  beforeAll(() => void process.on('warning', onWarning));
  afterAll(() => {
    process.off('warning', onWarning);
    // pg warns about a statement that is sent before the previous one is answered.
    expect(warnings).toEqual([]);
  });

  test('serves both endpoints, without DATABASE_URL, and stays open', async () => {
    const pool = new pg.Pool({ connectionString: url.href, max: 2 });
    const { DATABASE_URL: _, ...others } = environment;
    const handler = create({ pool, environment: { ...others, NODE_ENV: 'production' } });
    const { customerId, plan } = await newTeam();
    const user = await addUser(database.query, {
      ...PROFILE,
      email: 'pool@x.test',
      role: 'member',
    });
    const response = await handler(userRequest(await sessionCookie(user.id)));
    expect(await response.json()).toMatchObject({ id: user.id, createdAt: expect.any(String) });
    expect((await handler(webhookRequest(eventBody({ customerId })))).status).toBe(200);
    expect(await plan()).toMatchObject({ subscriptionStatus: 'active' });
    await handler.close();
    const { rows } = await pool.query("select current_setting('statement_timeout') as timeout");
    expect(rows).toEqual([{ timeout: '0' }]);
    await pool.end();
  });

  test('that uses pg-native is refused, and gets its connection back', async () => {
    let isReleased = false;
    const release = () => {
      isReleased = true;
    };
    // Unlike those of pg itself, its clients have no `connection`.
    const client = Object.assign(new EventEmitter(), { native: {}, release });
    const counts = { totalCount: 0, idleCount: 0, waitingCount: 0 };
    const pool = { connect: async () => client, options: {}, ...counts };
    expect((await create({ pool })(userRequest())).status).toBe(503);
    expect(lines.join()).toContain('DATABASE_UNUSABLE');
    expect(isReleased).toBe(true);
  });

  test('gets our timeouts for each statement, and answers 503 while it is exhausted', async () => {
    const pool = new pg.Pool({ connectionString: url.href, max: 1 });
    const handler = create({ pool });
    const cookie = await sessionCookie(1);
    expect((await handler(userRequest(cookie))).status).toBe(200);
    await database.transaction(async (query) => {
      await query('lock table users in access exclusive mode');
      expect((await handler(userRequest(cookie))).status).toBe(503);
    });
    const taken = await pool.connect();
    expect((await handler(userRequest(cookie))).status).toBe(503);
    taken.release();
    expect((await handler(userRequest(cookie))).status).toBe(200);
    await handler.close();
    await pool.end();
  });
});

test('a mounted app can answer with the metrics, which count from the first call on', async () => {
  const handler = create();
  await handler.metrics();
  await handler(webhookRequest(eventBody({ customerId: 'cus_counted' })));
  expect(await handler.metrics()).toMatch(
    /^instep_events_total\{[^}]*outcome="parked",source="delivery"\} 1$/m,
  );
});

test.each(['VERCEL', 'AWS_LAMBDA_FUNCTION_NAME', 'K_SERVICE', 'FUNCTIONS_WORKER_RUNTIME'])(
  'nothing runs in the background where %s says that the platform freezes processes',
  async (variable) => {
    const lines: string[] = [];
    const handler = create({
      environment: { ...environment, [variable]: '1' },
      logger: createLogger('warn', { write: (line) => lines.push(line) }),
      maintenance: 'background',
    });
    const customerId = `cus_${variable}`;
    await handler(webhookRequest(eventBody({ customerId })));
    const teamId = await addTeam(database.query, { name: 'Late', customerId });
    // In the background, a team gets its plan within a second.
    await sleep(1_500);
    const statusOf = async () => (await readTeam(database.query, teamId))?.plan.subscriptionStatus;
    expect(await statusOf()).toBe(null);
    await handler.runMaintenance(5_000);
    expect(await statusOf()).toBe('active');
    expect(lines.join()).toContain('runMaintenance');
  },
);
