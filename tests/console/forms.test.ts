import { jsx } from 'hono/jsx';
import { PostForm } from 'instep-console/src/components/form.tsx';
import { Panel } from 'instep-console/src/components/panels.tsx';
import type { createPages } from 'instep-console/src/pages.tsx';
import { describe, expect, test } from 'vitest';
import { OPERATIONS_TOKEN, SHARED_TOKEN } from '../support/secrets/test-secrets.ts';
import { csrfIn, type Operator, useConsole } from '../support/service/console-service.ts';

const FORM = '/a-form';
const extend = (app: ReturnType<typeof createPages>) => {
  app.get(FORM, (context) =>
    context.render(Panel({ title: 'Form', id: 'form', children: jsx(PostForm, { action: FORM }) })),
  );
};
const guarded = useConsole({ tokens: [SHARED_TOKEN], extend });
const local = useConsole({ extend });

const OTHER = 'https://evil.example';

/** The response to an accepted form whose address does not exist. */
const ACCEPTED = 404;

describe.each([
  ['with a login', guarded, (operator: Operator) => operator.logIn(OPERATIONS_TOKEN)],
  ['on this machine', local, (operator: Operator) => operator.get('/')],
] as const)('a form, %s,', (_, service, enter) => {
  async function enterWithForm() {
    const operator = service.newOperator();
    await enter(operator);
    return { operator, csrf: await operator.csrfOn(FORM) };
  }

  test('is accepted with its token', async () => {
    const { operator, csrf } = await enterWithForm();
    expect((await operator.post('/nothing', { csrf })).status).toBe(ACCEPTED);
    const headers = { origin: 'null', 'sec-fetch-site': 'same-origin' };
    expect((await operator.post('/nothing', { csrf }, headers)).status).toBe(ACCEPTED);
  });

  test.each<[string, Record<string, string>]>([
    ['no token', {}],
    ['an empty token', { csrf: '' }],
    ['a wrong token', { csrf: 'A'.repeat(43) }],
  ])('is refused with %s', async (_, fields) => {
    const { operator } = await enterWithForm();
    const answer = await operator.post('/nothing', fields);
    expect(answer.status).toBe(403);
    expect(await answer.text()).toContain('This form has expired');
  });

  test("is refused with another operator's token", async () => {
    const { operator } = await enterWithForm();
    const { csrf } = await enterWithForm();
    expect((await operator.post('/nothing', { csrf })).status).toBe(403);
  });

  test.each<Record<string, string>>([
    { origin: OTHER },
    { origin: OTHER, 'sec-fetch-site': 'cross-site' },
    { origin: 'null', 'sec-fetch-site': 'same-site' },
    { origin: 'null' },
    { origin: '' },
  ])('is refused from %j', async (headers) => {
    const { operator, csrf } = await enterWithForm();
    const answer = await operator.post('/nothing', { csrf }, headers);
    expect(answer.status).toBe(403);
    expect(await answer.text()).toContain('another site');
  });

  test('is refused as JSON', async () => {
    const { operator, csrf } = await enterWithForm();
    const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
    expect((await operator.post('/nothing', { csrf }, headers)).status).toBe(415);
  });
});

describe('a form that was sent after its session had expired', () => {
  const sealed = async (operator: Operator) => {
    const answer = await operator.post('/events/7/replay', { note: '"<b>kept</b>"', csrf: 'old' });
    expect(answer.status).toBe(303);
    const { searchParams } = new URL(answer.headers.get('location') ?? '', guarded.url);
    return searchParams.get('next') ?? '';
  };

  test('can be sent again after the login', async () => {
    const operator = guarded.newOperator();
    const next = await sealed(operator);
    const login = await operator.logIn(OPERATIONS_TOKEN, next);
    expect(login.headers.get('location')).toBe(next);
    const page = await (await operator.get(next)).text();
    expect(page).toContain('Your input was kept.');
    expect(page).toContain('Replay event 7');
    expect(page).toContain('note: &quot;&lt;b&gt;kept&lt;/b&gt;&quot;');
    expect(page).toContain('action="/events/7/replay"');
    expect(page).toContain('name="note" value="&quot;&lt;b&gt;kept&lt;/b&gt;&quot;"');
    expect(page).not.toContain('value="old"');
    const csrf = csrfIn(page.slice(page.indexOf('action="/events')));
    expect((await operator.post('/nothing', { csrf })).status).toBe(ACCEPTED);
  });

  test('keeps every value of a field that occurs more than once', async () => {
    const operator = guarded.newOperator();
    const fields: [string, string][] = [
      ['row', 'team:1'],
      ['row', 'team:2'],
      ['action', 'repair'],
    ];
    const sent = await operator.post('/attention', fields);
    const { searchParams } = new URL(sent.headers.get('location') ?? '', guarded.url);
    await operator.logIn(OPERATIONS_TOKEN);
    const page = await (await operator.get(searchParams.get('next') ?? '')).text();
    for (const [name, value] of fields) expect(page).toContain(`name="${name}" value="${value}"`);
  });

  test('keeps every row of a full page, with its team', async () => {
    const operator = guarded.newOperator();
    const fields = Array.from({ length: 50 }, (_, row): [string, string][] => {
      const subject = `customer:cus_${String(row * 7919).padStart(14, 'Q')}`;
      return [
        ['row', subject],
        [`link ${subject}`, `The team number ${row}`],
      ];
    }).flat();
    const sent = await operator.post('/attention', [...fields, ['action', 'link']]);
    expect(sent.status).toBe(303);
    const { searchParams } = new URL(sent.headers.get('location') ?? '', guarded.url);
    await operator.logIn(OPERATIONS_TOKEN);
    const page = await (await operator.get(searchParams.get('next') ?? '')).text();
    for (const [name, value] of fields) expect(page).toContain(`name="${name}" value="${value}"`);
  });

  test('is not shown when its address was changed', async () => {
    const operator = guarded.newOperator();
    const next = await sealed(operator);
    await operator.logIn(OPERATIONS_TOKEN);
    const [path, content = ''] = next.split('form=');
    const changed = Buffer.from('{"path":"/reconcile","fields":[]}').toString('base64url');
    for (const form of [content.replace(/^[^.]*/, changed), content.slice(0, -1), '', '.', 'x.y']) {
      expect((await operator.get(`${path}form=${form}`)).status).toBe(404);
    }
  });

  test('is not kept when another site sent it', async () => {
    const operator = guarded.newOperator();
    const answer = await operator.post('/reconcile', {}, { origin: OTHER });
    expect(answer.status).toBe(403);
  });

  test('is also kept without a login', async () => {
    const operator = local.newOperator();
    const answer = await operator.post('/reconcile', { mode: 'repair' });
    expect(answer.status).toBe(403);
    const page = await answer.text();
    expect(page).toContain('name="mode" value="repair"');
    expect(page).toMatch(/Reconcile<\/bdi>.*<bdi>mode: repair/s);
  });
});

test('a login is refused without the token of its form', async () => {
  const operator = guarded.newOperator();
  expect((await operator.post('/login', { token: OPERATIONS_TOKEN })).status).toBe(403);
  await operator.get('/login');
  expect((await operator.post('/login', { token: OPERATIONS_TOKEN })).status).toBe(403);
  expect(operator.cookies.has('instep_operator')).toBe(false);
});

test("a visitor's form token is refused after the login", async () => {
  const operator = guarded.newOperator();
  const csrf = await operator.csrfOn('/login');
  await operator.logIn(OPERATIONS_TOKEN);
  expect((await operator.post('/nothing', { csrf })).status).toBe(403);
});

test('changes by operators are logged, reads are not', async () => {
  const operator = guarded.newOperator();
  await operator.logIn(OPERATIONS_TOKEN);
  await operator.post('/events/7/replay', { csrf: await operator.csrfOn('/') });
  const acts = guarded.lines.filter(
    ({ msg, path }) => msg === 'operator acted' && path === '/events/7/replay',
  );
  expect(acts).toEqual([
    expect.objectContaining({ method: 'POST', status: 404, viewer: 'session' }),
  ]);
});
