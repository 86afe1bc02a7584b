import type { NamedToken } from 'instep-operate';
import { beforeAll, describe, expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import type { Operator } from '../support/browser/operator.ts';
import { addTeam } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { SHARED_TOKEN, VIEWER_TOKEN } from '../support/secrets/test-secrets.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const ADA = {
  name: 'ada',
  role: 'operator',
  token: 'canaryAdaToken-of-32-characters-or-more',
} as const;

const { database } = await createDatabase();
const tokens = [ADA, VIEWER_TOKEN, SHARED_TOKEN];
/** The paths that a form can be sent to. */
const actions: string[] = [];
const service = await openConsole(database, {
  tokens,
  metrics: { contentType: 'text/plain', expose: async () => 'up 1\n' },
  extend({ routes }) {
    actions.push(...routes.filter(({ method }) => method === 'POST').map(({ path }) => path));
  },
});

let position: number;
beforeAll(async () => {
  await addTeam(database.query, { name: 'Acme', customerId: 'cus_1' });
  const ingest = openPipeline(database);
  await ingest([receivedEvent({ customerId: 'cus_1' })]);
  await ingest([receivedEvent({ customerId: 'cus_2' })]);
  const [event] = await database.query<{ position: number }>(
    "select position from instep.events where customer_id = 'cus_1'",
  );
  position = event?.position ?? 0;
});

async function logIn({ token }: { token: string }): Promise<Operator> {
  const person = service.newOperator();
  expect((await person.logIn(token)).status).toBe(303);
  return person;
}

const htmlOf = async (person: Operator, path: string) => await (await person.get(path)).text();
const audit = () => database.query('select operator from instep.operator_actions');

test('an operator acts under the name of the token, also in the log', async () => {
  const ada = await logIn(ADA);
  const html = await htmlOf(ada, '/teams/1');
  expect(html).toContain('<bdi>ada</bdi>');
  await ada.post('/actions', { one: 'dismiss team:1', confirmed: 'yes' });
  expect(await audit()).toEqual([{ operator: 'ada' }]);
  expect(await htmlOf(ada, '/actions')).toContain('>ada<');
  expect(service.lines).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ msg: 'operator logged in', operator: 'ada' }),
      expect.objectContaining({ msg: 'operator acted', operator: 'ada' }),
    ]),
  );
});

describe('a viewer', () => {
  test('changes nothing with a form that was forged', async () => {
    const before = await audit();
    const grace = await logIn(VIEWER_TOKEN);
    const others = actions.filter((path) => path !== '/login' && path !== '/logout');
    expect(others).toEqual(['/actions', '/compare']);
    const fields = { one: 'dismiss customer:cus_2', confirmed: 'yes' };
    for (const path of others) expect((await grace.post(path, fields)).status).toBe(403);
    const authorization = `Bearer ${VIEWER_TOKEN.token}`;
    expect((await grace.post('/actions', fields, { authorization })).status).toBe(403);
    expect(await audit()).toEqual(before);
  });

  test('sees payloads without personal data', async () => {
    const [grace, ada] = [await logIn(VIEWER_TOKEN), await logIn(ADA)];
    expect(await htmlOf(ada, `/events/${position}`)).toContain('canaryMetadata');
    expect(await htmlOf(ada, `/events/${position}/body`)).toContain('canaryMetadata');
    const html = await htmlOf(grace, `/events/${position}`);
    expect(html).toContain('redacted_');
    expect(html).not.toContain('canary');
    expect(html).not.toContain(`/events/${position}/body`);
    expect((await grace.get(`/events/${position}/body`)).status).toBe(403);
  });
});

describe('after a restart', () => {
  /** A session of Ada's from before, in a browser at another service, which has these tokens. */
  async function sessionAt(tokens: readonly NamedToken[]): Promise<Operator> {
    const ada = await logIn(ADA);
    const person = (await openConsole(database, { tokens })).newOperator();
    for (const [name, value] of ada.cookies) person.cookies.set(name, value);
    return person;
  }

  test('a session goes on while its token stays', async () => {
    expect((await (await sessionAt(tokens)).get('/')).status).toBe(200);
  });

  test('a session ends when its token was removed or replaced', async () => {
    const removed = [VIEWER_TOKEN, SHARED_TOKEN];
    const replaced = [{ ...ADA, token: VIEWER_TOKEN.token }];
    for (const others of [removed, replaced]) {
      const person = await sessionAt(others);
      expect((await person.get('/')).headers.get('location')).toBe('/login?next=%2F');
    }
  });
});
