import { expect, test } from 'vitest';
import { exchange } from '../support/network/raw-connection.ts';
import { HEADERS } from '../support/secrets/test-secrets.ts';
import { openMetrics } from '../support/service/metrics-service.ts';
import { sessionCookie } from '../support/service/session-cookie.ts';
import { eventBody } from '../support/stripe/events.ts';

const service = await openMetrics();

const answered = (route: string, status: number) =>
  service.value(`instep_http_request_duration_seconds_count{route="${route}",status="${status}"}`);

function send(method: string, path: string): Promise<string> {
  return exchange(
    service.url,
    `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
  );
}

test('requests are counted by route and status, with any query and method, from zero', async () => {
  expect(await answered('/api/user', 200)).toBe(0);
  expect(await answered('/api/stripe/webhook', 503)).toBe(0);
  await send('GET', '/healthz');
  await send('GET', '/healthz?odd');
  await send('HEAD', '/healthz');
  expect(await answered('/healthz', 200)).toBe(3);
  await fetch(`${service.url}/api/user`, { headers: { cookie: await sessionCookie(1) } });
  expect(await answered('/api/user', 200)).toBe(1);
  const series = 'instep_http_request_duration_seconds_sum{route="/api/user",status="200"}';
  expect(await service.value(series)).toBeGreaterThan(0);
  await send('DELETE', '/api/user');
  expect(await answered('/api/user', 405)).toBe(1);
  await send('GET', '/nothing');
  expect(await answered('other', 404)).toBe(1);
});

test('no request adds a series', async () => {
  await service.post(eventBody());
  await service.post('{}', 'whsec_wrong');
  await send('GET', '/x');
  await send('PURGE', '/api/user');
  const before = [...(await service.values()).keys()];
  for (let round = 0; round < 50; round += 1) {
    const hostile = `x${round}"}\\n`;
    await Promise.all([
      send('GET', `/${encodeURIComponent(hostile)}`),
      send(`M${round}`, '/api/user'),
      fetch(`${service.url}/api/${round}`, { headers: HEADERS }),
      service.post(JSON.stringify({ id: hostile, type: hostile })),
      service.post(JSON.stringify({ id: hostile, type: round })),
      service.post('{}', `whsec_${round}`),
    ]);
  }
  const after = [...(await service.values()).keys()];
  const added = after.filter((series) => !before.includes(series));
  // Maintenance runs meanwhile.
  const ofWhatWasSent = /^instep_(?!maintenance_|stripe_api_).*\{/;
  expect(added.filter((series) => ofWhatWasSent.test(series)).sort()).toEqual([
    'instep_events_total{type="other",outcome="not-an-event",source="delivery"}',
    'instep_events_total{type="other",outcome="unhandled",source="delivery"}',
  ]);
});
