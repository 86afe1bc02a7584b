import { expect, test } from 'vitest';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const service = useService();
const origin = { origin: 'https://app.example' };
const preflight = {
  ...origin,
  'access-control-request-method': 'GET',
  'access-control-request-headers': 'cookie',
  'access-control-request-private-network': 'true',
};

function expectNoPermission({ headers }: Response): void {
  const names = [...headers.keys()].filter((name) => name.startsWith('access-control-'));
  expect(names).toEqual([]);
}

test('no response allows another site to read it', async () => {
  const { id } = await service.addUser();
  const cookie = await service.cookieOf(id);
  const profile = await fetch(`${service.url}/api/user`, { headers: { ...origin, cookie } });
  expect(await profile.json()).toMatchObject({ id });
  expectNoPermission(profile);

  for (const path of ['/api/user', '/api/stripe/webhook', '/healthz', '/readyz', '/nowhere']) {
    expectNoPermission(await fetch(service.url + path, { headers: origin }));
    expectNoPermission(await fetch(service.url + path, { headers: preflight, method: 'OPTIONS' }));
  }
  const signature = { ...origin, 'stripe-signature': 't=1,v1=0' };
  expectNoPermission(await service.postRaw(eventBody(), signature));
});

test('never sets a cookie', async () => {
  const { id } = await service.addUser();
  for (const cookie of [undefined, 'session=x', await service.cookieOf(id)]) {
    expect((await service.getUser(cookie)).headers.getSetCookie()).toEqual([]);
  }
});
