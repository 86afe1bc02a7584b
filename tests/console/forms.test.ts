import { describe, expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import type { Operator } from '../support/browser/operator.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { OPERATIONS_TOKEN, SHARED_TOKEN } from '../support/secrets/test-secrets.ts';

const { database } = await createDatabase();
const guarded = await openConsole(database, { tokens: [SHARED_TOKEN] });
const local = await openConsole(database);

const OTHER = 'https://evil.example';

/** The response to an accepted form whose address does not exist. */
const ACCEPTED = 404;

test('a form that was forged cannot ask for what only a command does', async () => {
  const fields = { one: 'redact customer:cus_1', confirmed: 'yes', back: '/attention' };
  expect((await local.post('/actions', fields)).status).toBe(400);
  expect(await database.query('select from instep.operator_actions')).toEqual([]);
});

describe.each([
  ['with a login', guarded, (operator: Operator) => operator.logIn(OPERATIONS_TOKEN)],
  ['on this machine', local, (operator: Operator) => operator.get('/')],
] as const)('a form, %s,', (_, service, enter) => {
  async function send(headers: Record<string, string>): Promise<number> {
    const operator = service.newOperator();
    await enter(operator);
    return (await operator.post('/nothing', {}, headers)).status;
  }

  test('is accepted from this site', async () => {
    expect(await send({})).toBe(ACCEPTED);
    expect(await send({ origin: 'null', 'sec-fetch-site': 'same-origin' })).toBe(ACCEPTED);
  });

  test.each<Record<string, string>>([
    { origin: OTHER },
    { origin: OTHER, 'sec-fetch-site': 'cross-site' },
    { origin: 'null', 'sec-fetch-site': 'same-site' },
    { origin: 'null' },
    { origin: '' },
    // Of this host over plain http, which the browser knows to be another site.
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'none' },
  ])('is refused from %j', async (headers) => {
    expect(await send(headers)).toBe(403);
  });

  test.each(['application/json', 'text/plain', 'multipart/form-data; boundary=x'])(
    'is refused as %s',
    async (type) => {
      const headers = { 'content-type': type, 'sec-fetch-site': 'same-origin' };
      expect(await send(headers)).toBe(415);
    },
  );
});

test('a token that a proxy adds to the form of a browser does not make it one of this site', async () => {
  const authorization = `Bearer ${OPERATIONS_TOKEN}`;
  const statusOf = async (origin: Record<string, string>) =>
    (await guarded.newOperator().post('/nothing', {}, { authorization, ...origin })).status;
  expect(await statusOf({ origin: OTHER })).toBe(403);
  expect(await statusOf({ 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await statusOf({ 'sec-fetch-site': 'same-origin' })).toBe(ACCEPTED);
});

test('a form that is sent after its session has ended leads to the login', async () => {
  const answer = await guarded.newOperator().post('/actions', { note: 'x' });
  expect(answer.status).toBe(303);
  expect(answer.headers.get('location')).toBe('/login?next=%2F');
});

test('a login from another site is refused', async () => {
  const operator = guarded.newOperator();
  const answer = await operator.post('/login', { token: OPERATIONS_TOKEN }, { origin: OTHER });
  expect(answer.status).toBe(403);
  expect(operator.cookies.size).toBe(0);
});
