import { createLogger } from 'instep';
import { type NamedToken, openContext } from 'instep/operate';
import { createCheckoutSession } from 'instep/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import { undescribed } from '../contract/openapi-document.ts';
import { atEndOfFile } from '../support/end-of-file.ts';
import { openOperations } from '../support/internals/operations.ts';
import { addTeam } from '../support/internals/rows.ts';
import { OPERATIONS_TOKEN, SHARED_TOKEN, VIEWER_TOKEN } from '../support/secrets/test-secrets.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { query } = account.database;

/** The operations port of a process, with these tokens. */
async function listen(tokens: readonly NamedToken[]): Promise<string> {
  const operations = await openOperations(
    { host: '127.0.0.1', port: 0, tokens },
    createLogger('silent'),
  );
  if (operations === null) throw new RangeError('no operations listener');
  atEndOfFile(() => operations.close());
  await operations.show(await openContext({ environment: account.environment }), null);
  return operations.url;
}

const url = await listen([SHARED_TOKEN, VIEWER_TOKEN]);
const authorization = `Bearer ${OPERATIONS_TOKEN}`;

const post = (path: string, body?: unknown, init: RequestInit = {}) =>
  fetch(new URL(path, url), {
    method: 'POST',
    headers: { authorization },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...init,
  });

const COMPLETE = 'POST /v1/checkouts/{id}/complete';
const SYNC = 'POST /v1/customers/{id}/sync';
const ACCESS = 'GET /v1/teams/{id}/access';

/** The status and the body of a response that openapi.yaml describes. */
async function described(name: string, response: Response) {
  expect(await undescribed(name, response.clone())).toBeNull();
  return { status: response.status, body: await response.json() };
}

beforeEach(async () => {
  account.fault = undefined;
  await query(`truncate teams, instep.events, instep.customers,
                        instep.operator_actions`);
  account.checkoutSessions.set(createCheckoutSession({ customerId: 'cus_1' }));
  const trial = { customerId: 'cus_1', status: 'trialing', productId: 'prod_pro' };
  const createdSeconds = Math.floor(Date.now() / 1_000);
  await account.happen({ ...trial, createdSeconds }, 'missed');
});

const newTeam = (customerId: string | null) => addTeam(query, { name: 'Acme', customerId });

test('a checkout is completed, and a customer synced', async () => {
  const teamId = await newTeam(null);
  const completed = await described(
    COMPLETE,
    await post('/v1/checkouts/cs_1/complete', { teamId }),
  );
  expect(completed).toMatchObject({ status: 200, body: { teamId, reason: 'trialing' } });
  expect(await described(SYNC, await post('/v1/customers/cus_1/sync'))).toEqual(completed);
  const actions = await query(`
    select subject, action, is_done, operator, operator_how from instep.operator_actions
     order by acted_at`);
  const by = { is_done: true, operator: 'OPS_TOKEN', operator_how: 'application' };
  expect(actions).toEqual([
    { ...by, subject: `team:${teamId}`, action: 'complete-checkout' },
    { ...by, subject: 'customer:cus_1', action: 'sync' },
  ]);
});

test('the access of a team is read, and is not in the audit', async () => {
  const teamId = await newTeam('cus_1');
  await post('/v1/customers/cus_1/sync');
  const get = (id: unknown) => post(`/v1/teams/${id}/access`, undefined, { method: 'GET' });
  expect(await described(ACCESS, await get(teamId))).toMatchObject({
    status: 200,
    body: { teamId, hasAccess: true, reason: 'trialing' },
  });
  for (const unknown of [999_999, 'none', '1%20']) {
    expect(await described(ACCESS, await get(unknown))).toMatchObject({ status: 404 });
  }
  expect(await query('select action from instep.operator_actions')).toEqual([{ action: 'sync' }]);
});

describe('an error has its code', () => {
  test.each([
    ['cs_unknown', null, 409, 'CHECKOUT_NOT_COMPLETE'],
    ['cs_1', 'cus_other', 409, 'TEAM_HAS_ANOTHER_CUSTOMER'],
  ])('of the checkout %s', async (sessionId, customerId, status, code) => {
    const teamId = await newTeam(customerId);
    const response = await post(`/v1/checkouts/${sessionId}/complete`, { teamId });
    expect(await described(COMPLETE, response)).toMatchObject({ status, body: { code } });
    expect(await query('select is_done from instep.operator_actions')).toEqual([
      { is_done: false },
    ]);
  });

  test('of the customer', async () => {
    const unlinked = await described(SYNC, await post('/v1/customers/cus_none/sync'));
    expect(unlinked).toMatchObject({ status: 404, body: { code: 'CUSTOMER_WITHOUT_TEAM' } });
    await newTeam('cus_1');
    account.fault = () => ({ status: 500 });
    const failed = await described(SYNC, await post('/v1/customers/cus_1/sync'));
    expect(failed).toMatchObject({ status: 503, body: { code: 'STRIPE_UNAVAILABLE' } });
  });

  test.each(['', '{', '[]', '{"teamId":null}', `{"teamId":"${'7'.repeat(256)}"}`])(
    'of the body %j',
    async (body) => {
      const response = await post('/v1/checkouts/cs_1/complete', body);
      expect(await described(COMPLETE, response)).toMatchObject({ status: 400 });
    },
  );

  test('of a body that is too large', async () => {
    const response = await post('/v1/checkouts/cs_1/complete', ' '.repeat(1_000_000));
    expect(await described(COMPLETE, response)).toMatchObject({ status: 413 });
  });
});

test.each([
  ['GET', '/v1/customers/cus_1/sync', 405],
  ['POST', '/v1/teams/1/access', 405],
  ['POST', '/v1/customers/cus_1', 404],
  ['POST', '/v1/customers/a/b/sync', 404],
])('%s %s is answered with %i', async (method, path, status) => {
  expect((await post(path, undefined, { method })).status).toBe(status);
});

test('only the token gives access, and without one nothing does', async () => {
  const path = '/v1/customers/cus_1/sync';
  for (const wrong of ['Bearer wrong', '']) {
    const response = await post(path, undefined, { headers: { authorization: wrong } });
    expect(response.status).toBe(401);
  }
  const open = await listen([]);
  expect((await fetch(new URL(path, open), { method: 'POST' })).status).toBe(403);
  expect(await query('select from instep.operator_actions')).toEqual([]);
});

test('a viewer can call nothing, and an operator calls under the name of the token', async () => {
  const headers = { authorization: `Bearer ${VIEWER_TOKEN.token}` };
  await newTeam('cus_1');
  for (const path of ['/v1/customers/cus_1/sync', '/v1/checkouts/cs_1/complete']) {
    expect((await post(path, '{}', { headers })).status).toBe(403);
  }
  expect(await query('select from instep.operator_actions')).toEqual([]);
  const ada = { ...SHARED_TOKEN, name: 'ada', token: 'canaryAdaToken-of-32-characters-or-more' };
  const other = await listen([ada]);
  const authorization = `Bearer ${ada.token}`;
  const synced = await fetch(new URL('/v1/customers/cus_1/sync', other), {
    method: 'POST',
    headers: { authorization },
  });
  expect(synced.status).toBe(200);
  expect(await query('select operator from instep.operator_actions')).toEqual([
    { operator: 'ada' },
  ]);
});
