import { afterAll, describe, expect, test, vi } from 'vitest';
import { type Behavior, startProxy, type TcpProxy } from '../support/network/tcp-proxy.ts';
import { NO_PLAN, useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const DEADLINE_MS = 1_500;
/** A machine that is busy with other tests can exceed the server's own deadline. */
const MARGIN_MS = 2_000;
const OUTAGES: Behavior[] = ['refuse', 'reset', 'swallow'];

let proxy: TcpProxy;
const service = useService({ REQUEST_DEADLINE_MS: String(DEADLINE_MS) }, async (databaseUrl) => {
  proxy = await startProxy(databaseUrl);
  return proxy.url;
});
afterAll(() => proxy?.close());

const inTime = () => AbortSignal.timeout(DEADLINE_MS + MARGIN_MS);

const post = (body: string) => service.postSigned(body, { signal: inTime() });

function getUser(cookie: string): Promise<Response> {
  return fetch(`${service.url}/api/user`, { headers: { cookie }, signal: inTime() });
}

async function expectUnavailable(response: Response): Promise<void> {
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('5');
  expect(await response.text()).toContain('Temporarily unavailable. Try again.');
}

/** Waits until the server has reconnected to its database by itself. */
async function untilWell(cookie: string): Promise<void> {
  const { customerId } = await service.addTeam();
  const isWell = async () => {
    expect((await post(eventBody({ customerId }))).status).toBe(200);
    expect((await getUser(cookie)).status).toBe(200);
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
  };
  await vi.waitFor(isWell, { timeout: 15_000, interval: 100 });
}

describe.each(OUTAGES)('while the database is unreachable: %s', (behavior) => {
  test('answers 503 in time if a request needs the database, and everything else as usual', async () => {
    const { id } = await service.addUser();
    const cookie = await service.cookieOf(id);
    const { teamId, customerId } = await service.addTeam();
    const body = eventBody({ customerId });
    // Now connections are open and in use.
    await untilWell(cookie);
    await proxy.become(behavior);

    for (let round = 0; round < 2; round += 1) {
      const answers = await Promise.all([post(body), getUser(cookie), post(body)]);
      for (const answer of answers) await expectUnavailable(answer);
    }
    await vi.waitFor(async () =>
      expect((await fetch(`${service.url}/readyz`, { signal: inTime() })).status).toBe(503),
    );
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
    for (const useless of ['', 'session=x', await service.cookieOf(id, 'another secret')]) {
      const response = await getUser(useless);
      expect(response.status).toBe(200);
      expect(await response.text()).toBe('null');
    }
    for (const type of ['invoice.paid', 'customer.subscription.created']) {
      expect((await post(eventBody({ type }))).status).toBe(200);
    }
    expect((await service.postRaw(body, { 'stripe-signature': 't=1,v1=0' })).status).toBe(400);
    expect(await service.planOf(teamId)).toEqual(NO_PLAN);

    await proxy.become('forward');
    await untilWell(cookie);
    expect(await (await getUser(cookie)).json()).toMatchObject({ id });
    expect((await post(body)).status).toBe(200);
    expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
  });
});
