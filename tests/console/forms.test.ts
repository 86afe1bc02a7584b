import { jsx } from 'hono/jsx';
import { PostForm } from 'instep-console/src/components/form.tsx';
import { Panel } from 'instep-console/src/components/panels.tsx';
import type { createPages } from 'instep-console/src/pages.tsx';
import { describe, expect, test } from 'vitest';
import { OPERATIONS_TOKEN, SHARED_TOKEN } from '../support/secrets/test-secrets.ts';
import { type Operator, useConsole } from '../support/service/console-service.ts';

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

test('a form that is sent after its session has ended leads to the login', async () => {
  const answer = await guarded.newOperator().post('/events/7/replay', { note: 'x', csrf: 'old' });
  expect(answer.status).toBe(303);
  expect(answer.headers.get('location')).toBe('/login?next=%2F');
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
