import { createHandler, createLogger } from 'instep';
import { openContext } from 'instep/operate';
import {
  type ConsoleOptions,
  type ConsoleUser,
  createConsole,
  toNodeListener,
} from 'instep-console';
import { describe, expect, onTestFinished, test } from 'vitest';
import { addTeam } from '../support/internals/rows.ts';
import { serve } from '../support/network/local-server.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { SETTINGS } from '../support/process/instep-process.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const BASE = '/admin/billing';
const ORIGIN = 'https://app.example';

const { url, database } = await createDatabase();
const environment = { ...SETTINGS, DATABASE_URL: url.href };
const teamId = Number(await addTeam(database.query, { name: 'Acme', customerId: 'cus_acme' }));
await addTeam(database.query, { name: 'Unlinked', customerId: null });
await openPipeline(database)([receivedEvent({ customerId: 'cus_acme' })]);
await openPipeline(database)([receivedEvent({ customerId: 'cus_parked' })]);

const logger = createLogger('silent');

/** The users of the app by their cookie. */
const USERS: Readonly<Record<string, ConsoleUser>> = {
  ada: { name: 'user:1', role: 'operator' },
  grace: { name: 'user:2', role: 'viewer' },
};

function mount(options: Partial<ConsoleOptions> = {}) {
  const instep = createHandler({ environment, logger, maintenance: 'off' });
  const console = createConsole({
    instep,
    logger,
    basePath: BASE,
    authorize: (request) => USERS[request.headers.get('cookie') ?? ''] ?? null,
    ...options,
  });
  onTestFinished(async () => {
    await console.close();
    await instep.close();
  });
  const get = (path: string, cookie = 'ada') =>
    console(new Request(ORIGIN + path, { headers: { cookie, host: 'app.example' } }));
  const post = (path: string, fields: Record<string, string>, cookie = 'ada', origin = ORIGIN) =>
    console(
      new Request(ORIGIN + path, {
        method: 'POST',
        headers: { cookie, origin, host: 'app.example' },
        body: new URLSearchParams(fields),
      }),
    );
  return { console, get, post };
}

const addressesIn = (html: string, attributes = 'href|src|action|hx-get') =>
  [...html.matchAll(new RegExp(` (?:${attributes})="([^"]*)"`, 'g'))]
    .map(([, address = '']) => address.replaceAll('&amp;', '&'))
    .filter((address) => !/^(?:#|https:)/.test(address));

const isBelow = (address: string) => /^\/admin\/billing(?:[/?#]|$)/.test(address);

/** Every page that links lead to from the overview, as a user of the app sees it. */
async function crawl(cookie: string, base = BASE): Promise<{ path: string; html: string }[]> {
  const { get } = mount({ basePath: base });
  const pages = [];
  const seen = new Set<string>();
  const next = [`${base}/`];
  for (let path = next.pop(); path !== undefined; path = next.pop()) {
    const url = new URL(path, ORIGIN);
    const key = url.pathname + [...url.searchParams.keys()].sort().join();
    if (seen.has(key)) continue;
    seen.add(key);
    const response = await get(path, cookie);
    expect({ path, status: response.status }).toEqual({ path, status: 200 });
    expect(response.headers.getSetCookie()).toEqual([]);
    if (!response.headers.get('content-type')?.startsWith('text/html')) {
      await response.arrayBuffer();
      continue;
    }
    const html = await response.text();
    pages.push({ path: url.pathname.slice(base.length), html });
    next.push(...addressesIn(html, 'href|src|hx-get'));
  }
  const paths = pages.map((page) => page.path);
  expect(paths).toEqual(
    expect.arrayContaining(['/', '/teams', `/teams/${teamId}`, '/attention', '/compare']),
  );
  return pages;
}

test('every address of every page stays below the base path', async () => {
  for (const { html } of await crawl('ada')) {
    expect(addressesIn(html).filter((one) => !isBelow(one))).toEqual([]);
  }
});

test('a viewer sees every page that an operator sees, without a form that changes something', async () => {
  const asOperator = await crawl('ada');
  const asViewer = await crawl('grace');
  const pathsOf = (pages: typeof asViewer) => new Set(pages.map(({ path }) => path));
  expect(pathsOf(asViewer)).toEqual(pathsOf(asOperator));
  const canChange = ({ html }: { html: string }) => /<form method="post"|name="row"/.test(html);
  expect(asOperator.filter(canChange).map(({ path }) => path)).toContain('/attention');
  expect(asViewer.filter(canChange).map(({ path }) => path)).toEqual([]);
});

test.each(['/', 'admin', '/admin/', '//evil.example', '/a b', '/a?b'])(
  'the base path %j is refused',
  (basePath) => {
    expect(() => mount({ basePath })).toThrow(TypeError);
  },
);

test('who is not signed in gets a 401, and nothing of the page', async () => {
  const { get, post } = mount();
  for (const path of ['', '/teams', '/assets/style.css']) {
    const response = await get(BASE + path, 'nobody');
    expect(response.status).toBe(401);
    expect(await response.text()).not.toContain('<');
  }
  expect((await post(`${BASE}/compare`, {}, 'nobody')).status).toBe(401);
});

describe('a form', () => {
  test('of an operator leads below the base path, and is in the audit under the name that the app gave', async () => {
    const { get, post } = mount();
    const fields = { one: 'dismiss customer:cus_nobody', confirmed: 'yes', back: '/teams' };
    const sent = await post(`${BASE}/actions`, fields);
    expect(sent.status).toBe(303);
    expect(sent.headers.get('location')).toMatch(/^\/admin\/billing\/teams\?done=/);
    expect(await (await get(`${BASE}/actions`)).text()).toContain('user:1');
  });

  test('of a viewer is refused, and one of another site', async () => {
    const { post } = mount();
    for (const path of ['/compare', '/actions', '/nothing']) {
      expect((await post(BASE + path, {}, 'grace')).status).toBe(403);
      expect((await post(BASE + path, {}, 'ada', 'https://evil.example')).status).toBe(403);
    }
  });
});

test('the checks are those of the environment of the handler', async () => {
  const { get } = mount();
  let html = '';
  await expect
    .poll(async () => {
      html = await (await get(`${BASE}/checks`)).text();
      return html;
    })
    .toContain('id="panel-checks"');
  // Nothing listens at the address of Stripe's API.
  expect(html).toMatch(/>(?:warning|failure)<\/span>/);
});

test('a context of its own takes the place of a handler', async () => {
  const operateContext = () => openContext({ environment, logger });
  const instep = { operateContext };
  const console = createConsole({ instep, logger, authorize: () => USERS.ada ?? null });
  onTestFinished(() => console.close());
  expect((await console(new Request(`${ORIGIN}/teams`))).status).toBe(200);
});

test.each<[string, ConsoleOptions['authorize']]>([
  ['rejects', () => Promise.reject(new RangeError('no session store'))],
  ['rejects with what has no text', () => Promise.reject(Object.create(null))],
  [
    'rejects with an odd message',
    () => Promise.reject(Object.assign(new Error(), { message: { code: 1 } })),
  ],
  ['knows another role', () => JSON.parse('{"name":"user:1","role":"owner"}')],
  ['names nobody', () => ({ name: '', role: 'operator' })],
  ['has a name that the audit refuses', () => ({ name: 'user\0', role: 'operator' })],
  ['has a name of two lines', () => ({ name: 'user:1\noperator acted', role: 'operator' })],
])('when authorize %s, nobody gets in and the log says why', async (_, authorize) => {
  const lines: string[] = [];
  const log = createLogger('info', { write: (line) => lines.push(line) });
  const response = await mount({ authorize, logger: log }).get(BASE);
  expect(response.status).toBe(503);
  expect(await response.text()).not.toContain('<');
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ level: 'error', err: expect.anything() }),
  ]);
});

test('node:http serves it, also where a framework has removed the prefix', async () => {
  const { console } = mount();
  const listener = toNodeListener(console);
  const origin = await serve((request, response) => {
    Object.assign(request, { originalUrl: request.url, url: '/' });
    listener(request, response);
  });
  const response = await fetch(`${origin}${BASE}/teams`, { headers: { cookie: 'ada' } });
  expect(response.status).toBe(200);
  expect(await response.text()).toContain('Acme');
});
