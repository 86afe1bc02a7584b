import { Hono } from 'hono';
import { withinDeadline } from 'instep-console/src/middleware.ts';
import { withDeadline } from 'instep-engine/runtime';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { connect, createDatabase } from '../support/postgres/test-database.ts';

const FORM = {
  'content-type': 'application/x-www-form-urlencoded',
  'sec-fetch-site': 'same-origin',
};

describe('an error', async () => {
  const { database } = await createDatabase();
  const service = await openConsole(database, {
    extend(app) {
      app.get('/fails', () => {
        throw new TypeError('the detail of a defect');
      });
      app.get('/waits', () => withDeadline(new Promise<Response>(() => undefined), 1));
      app.get('/too-slow', async (context) => {
        await database.query("set statement_timeout = '1ms'; select pg_sleep(1)");
        return context.text('never');
      });
    },
  });

  test('of ours is logged, and its details are not shown', async () => {
    const answer = await fetch(`${service.url}/fails`);
    expect(answer.status).toBe(500);
    const html = await answer.text();
    expect(html).toContain('Internal error');
    expect(html).not.toContain('of a defect');
    expect(html).not.toContain('TypeError');
    const err = expect.objectContaining({ message: 'the detail of a defect' });
    expect(service.lines).toContainEqual(expect.objectContaining({ level: 'error', err }));
  });

  test('by timeout says so, and that events are not affected', async () => {
    for (const path of ['/waits', '/too-slow']) {
      const answer = await fetch(service.url + path);
      expect(answer.status).toBe(503);
      const html = await answer.text();
      expect(html).toContain('The page took too long');
      expect(html).toContain('Events use connections of their own');
    }
  });

  test('in a part of a page is only a notice', async () => {
    const answer = await fetch(`${service.url}/nothing`, { headers: { 'hx-request': 'true' } });
    expect(answer.status).toBe(404);
    expect(await answer.text()).toMatch(/^<div class="notice error"><strong>Not found<\/strong>/);
  });

  test.each([
    ['with a length', (body: string) => body],
    ['in chunks', (body: string) => new Blob([body]).stream()],
  ])('rejects a form of more than 64 kB %s', async (_, send) => {
    const answer = await fetch(`${service.url}/actions`, {
      method: 'POST',
      headers: FORM,
      body: send(`note=${'x'.repeat(65_536)}`),
      duplex: 'half',
    });
    expect(answer.status).toBe(413);
    expect(await answer.text()).toContain('65536 bytes');
  });
});

describe('an unreachable database', async () => {
  const database = connect(new URL('postgres://instep:canaryDatabasePassword@127.0.0.1:1/app'));
  const service = await openConsole(database, {
    extend(app) {
      app.get('/asks', async (context) => context.json(await database.query('select 1')));
    },
  });

  test('is named as the reason, with the consequence for events', async () => {
    const answer = await fetch(`${service.url}/asks`);
    expect(answer.status).toBe(503);
    const html = await answer.text();
    expect(html).toContain('PostgreSQL does not answer');
    expect(html).toContain('Connect ECONNREFUSED 127.0.0.1:1. Events get a 503 until it is back');
    expect(service.lines).toContainEqual(
      expect.objectContaining({ level: 'error', msg: 'operations request failed', path: '/asks' }),
    );
  });
});

test('every request is answered within 10 seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const app = new Hono().use(withinDeadline).get('/', () => new Promise<Response>(() => undefined));
  app.onError((error, context) =>
    context.text(`${'code' in error && error.code} ${'status' in error && error.status}`, 503),
  );
  const answer = app.request('/');
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await (await answer).text()).toBe('PAGE_PROBLEM 503');
});
