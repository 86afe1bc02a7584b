import { once } from 'node:events';
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Hono } from 'hono';
import type { ApplicationId } from 'instep/src/core/application.ts';
import type { Query } from 'instep/src/postgres/database.ts';
import { addTeam } from 'instep/src/postgres/statements/teams.ts';
import { createLogger } from 'instep/src/runtime/logging.ts';
import { exportList, sendFile } from 'instep-console/src/export.ts';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { MEMBERS } from '../support/secrets/test-secrets.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received, receivedEvent } from '../support/stripe/events.ts';

const { database } = await createDatabase();
const pages = await openConsole(database);

const FORMULA = '=HYPERLINK("http://example.com","Acme")';
const EVENTS = 450;
let teamId: ApplicationId = 0;

beforeAll(async () => {
  const { query } = database;
  teamId = await addTeam(query, { name: FORMULA, customerId: 'cus_acme' });
  await query(
    "insert into teams (name) select 'Team ' || number from generate_series(1, 1500) number",
  );
  const ingest = openPipeline(database);
  const events = Array.from({ length: EVENTS }, (_, index) =>
    receivedEvent({
      eventId: `evt_acme_${index}`,
      customerId: 'cus_acme',
      createdSeconds: 1_000_000 + index,
      status: index === EVENTS - 1 ? 'canceled' : 'active',
    }),
  );
  await ingest(events);
  await ingest([receivedEvent({ eventId: 'evt_parked', customerId: 'cus_nobody' })]);
});

async function download(path: string) {
  const response = await pages.fetch(path);
  expect(response.status).toBe(200);
  const { headers } = response;
  return {
    text: await response.text(),
    type: headers.get('content-type'),
    disposition: headers.get('content-disposition'),
  };
}

const linesOf = (text: string) => text.trimEnd().split('\r\n');

test('all events of a filter are exported as CSV and as JSON, the newest first', async () => {
  const { html } = await pages.get('/events?customer=cus_acme');
  expect(html).toContain('href="/events?customer=cus_acme&amp;format=csv"');
  const csv = await download('/events?customer=cus_acme&format=csv');
  expect(csv.type).toBe('text/csv; charset=utf-8');
  expect(csv.disposition).toBe('attachment; filename="events.csv"');
  const [head, first, ...others] = linesOf(csv.text);
  expect(head).toMatch(/^position,received_at,created_at,outcome,event,type,status/);
  expect(first).toMatch(
    /^\d+,2023-.*Z,1970-.*Z,applied,evt_acme_449,.*,canceled,prod_1,cus_acme,sub_1,1$/,
  );
  expect(others).toHaveLength(EVENTS - 1);

  const json = await download('/events?outcome=parked&format=json');
  expect(JSON.parse(json.text)).toMatchObject([{ event: 'evt_parked', customer: 'cus_nobody' }]);
  expect(JSON.parse((await download('/events?event=evt_none&format=json')).text)).toEqual([]);
});

test('all teams of a filter are exported', async () => {
  const all = linesOf((await download('/teams?format=csv')).text);
  expect(all).toHaveLength(1_502);
  expect(all[0]).toBe(
    'id,name,status,plan,product,subscription,customer,lost_plan,lost_product,due_since',
  );
  const json = await download('/teams?search=team+15&format=json');
  const names: string[] = JSON.parse(json.text).map(({ name }: { name: string }) => name);
  expect(names).toHaveLength(12);
  expect(names[0]).toBe('Team 15');
});

test('a cancelled download ends its search', async () => {
  let searches = 0;
  // No end of the table is ever reached.
  const query: Query = async (statement, values) => {
    if (typeof statement === 'string' || statement.name !== 'list_teams') {
      return await database.query(statement, values);
    }
    searches += 1;
    await sleep(1);
    return await database.query('select null as id, \'1\' as "examinedTo"');
  };
  const { url } = await openConsole({ ...database, query });
  const download = get(`${url}/teams?plan=Unknown&format=csv`).on('error', () => undefined);
  await once(download, 'response');
  download.destroy();
  await vi.waitFor(async () => {
    const before = searches;
    await sleep(50);
    expect(searches).toBe(before);
  });
});

test('everything that needs attention is exported, also by kind', async () => {
  await database.query(
    `insert into instep.findings (customer_id, team_id, problem, plan, should_be)
     select provider_customer_id, id::text, 'plan refused', null, '{"planName":"Pro"}'
       from teams where provider_customer_id = 'cus_acme'`,
  );
  const { html } = await pages.get('/attention?issue=parked-events');
  expect(html).toContain('href="/attention?issue=parked-events&amp;format=csv"');
  const all = JSON.parse((await download('/attention?format=json')).text);
  expect(all).toMatchObject([
    {
      issue: 'plan-refused',
      team: teamId,
      name: FORMULA,
      customer: 'cus_acme',
      reason: expect.stringContaining('The database refuses the plan'),
      should_be: '{"planName":"Pro"}',
    },
    {
      issue: 'parked-events',
      team: null,
      customer: 'cus_nobody',
      event: 'evt_parked',
      parked_events: 1,
    },
  ]);
  const parked = linesOf((await download('/attention?issue=parked-events&format=csv')).text);
  expect(parked).toHaveLength(2);
});

test('everything that operators did is exported, the newest first', async () => {
  await database.query(
    `insert into instep.operator_actions
            (form_id, subject, action, is_done, operator, operator_how, outcome, acted_at)
     select gen_random_uuid(), 'team:' || number, 'compare', true, 'ada', 'console',
            '{"code":"in-sync"}', now() - number / 3 * interval '1 minute'
       from generate_series(1, 1200) as number`,
  );
  expect((await pages.get('/actions')).html).toContain('href="/actions?format=csv"');
  const { text, disposition } = await download('/actions?format=csv');
  expect(disposition).toBe('attachment; filename="actions.csv"');
  const [head, first, ...others] = linesOf(text);
  expect(head).toBe('acted_at,operator,operator_how,action,subject,is_done,code,result,note');
  expect(first).toMatch(/Z,ada,console,compare,team:[12],true,in-sync,[^,]+,$/);
  expect(new Set(others).size).toBe(1_199);
});

test('a name is text in a spreadsheet, and unchanged in JSON', async () => {
  const [, row] = linesOf((await download('/teams?status=canceled&format=csv')).text);
  expect(row).toBe(`1,"'${FORMULA.replaceAll('"', '""')}",canceled,,,,cus_acme,,prod_1,`);
  const [team] = JSON.parse((await download('/teams?search=cus_acme&format=json')).text);
  expect(team).toMatchObject({ name: FORMULA, lost_product: 'prod_1', plan: null });
});

describe('a team for support', () => {
  test('has its plan, the reasons and all events, without personal data', async () => {
    const { html } = await pages.get(`/teams/${teamId}`);
    expect(html).toContain(`href="/teams/${teamId}/export"`);
    const { text, disposition } = await download(`/teams/${teamId}/export`);
    expect(disposition).toBe(`attachment; filename="team-${teamId}.json"`);
    const exported = JSON.parse(text);
    expect(exported).toMatchObject({
      bodies: 'redacted',
      team: { id: teamId, customerId: 'cus_acme', plan: { subscriptionStatus: 'canceled' } },
      status: { kind: 'lost plan', deciding: { subscriptionId: 'sub_1' } },
      subscriptions: [{ subscriptionId: 'sub_1', status: 'canceled' }],
    });
    const events = exported.timeline.filter(({ kind }: { kind: string }) => kind === 'event');
    expect(events).toHaveLength(EVENTS);
    expect(events[0]).toMatchObject({
      id: 'evt_acme_449',
      outcome: 'applied',
      status: 'canceled',
      plans: { after: { subscriptionStatus: 'canceled' } },
      body: { data: { object: { id: 'sub_1', status: 'canceled' } } },
    });
    expect(events[0].reasons[0]).toMatch(/[a-z]/);
    expect(text).toContain('redacted_');
    expect(text).not.toContain('canaryMetadata');
  });

  test('has the events as Stripe sent them on request', async () => {
    const id = await addTeam(database.query, { name: 'Plain', customerId: 'cus_plain' });
    const event = JSON.parse(eventBody({ customerId: 'cus_plain' }));
    // Without the members that the export replaces.
    for (const member of Object.keys(MEMBERS)) delete event.data.object[member];
    event.data.object.metadata = { note: 'written by a person', count: 1 };
    const body = JSON.stringify(event).replace('"count":1', '"count":12345678901234567890');
    await openPipeline(database)([received(body)]);
    expect((await download(`/teams/${id}/export`)).text).not.toContain('written by a person');
    const { text } = await download(`/teams/${id}/export?bodies=original`);
    expect(JSON.parse(text)).toMatchObject({ bodies: 'original' });
    expect(text).toContain(body);
  });

  test('has nothing that operators entered', async () => {
    const id = await addTeam(database.query, { name: 'Entered', customerId: null });
    await addTeam(database.query, { name: 'Jane Roe, Inc.', customerId: null });
    await addTeam(database.query, { name: 'Jane Doe, Inc.', customerId: null });
    const customerId = 'cus_entered';
    const event = { eventId: 'evt_entered', customerId, status: 'incomplete' };
    await openPipeline(database)([receivedEvent(event)]);
    await pages.post(`/teams/${id}/dismiss`, { note: 'for John Roe' });
    await pages.post(`/teams/${id}/link`, { customer: 'jim@example.com' });
    for (const text of ['Jane', String(id)]) {
      await pages.post('/attention', { action: 'link', [`link customer:${customerId}`]: text });
    }
    const entered = ['John Roe', 'jim@example.com', 'Jane'];
    const audit = await database.query('select note, outcome from instep.operator_actions');
    for (const text of entered) expect(JSON.stringify(audit).includes(text)).toBe(true);
    const { text: exported } = await download(`/teams/${id}/export`);
    for (const text of entered) expect(exported).not.toContain(text);
    const { timeline } = JSON.parse(exported);
    const results = timeline.flatMap(({ action }: Record<string, { result: { code: string } }>) =>
      action === undefined ? [] : [action.result.code],
    );
    expect(results).toEqual(['linked', 'several-teams', 'not-a-customer', 'dismissed']);
  });

  test('is also exported without a customer', async () => {
    const { text } = await download('/teams/2/export');
    expect(JSON.parse(text)).toMatchObject({ status: { kind: 'unlinked' } });
  });
});

describe('a file', () => {
  const logger = createLogger('silent');
  let created = 0;
  let isOver = false;

  async function* endless() {
    created = 0;
    isOver = false;
    try {
      for (;;) {
        created += 1;
        yield 'x'.repeat(32_768);
      }
    } finally {
      isOver = true;
    }
  }

  const file = (parts: AsyncIterable<string>) =>
    new Hono()
      .get('/', (context) =>
        sendFile(context, { name: 'a', contentType: 'text/plain', parts }, logger),
      )
      .request('/');

  test('begins before the first row is found', async () => {
    async function* searching() {
      yield 'head';
      await new Promise(() => undefined);
    }
    const reader = (await file(searching())).body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('head');
  });

  test('is read no faster than it is sent, and no further when the receiver is gone', async () => {
    const reader = (await file(endless())).body?.getReader();
    for (let chunks = 1; chunks <= 5; chunks += 1) {
      await reader?.read();
      expect(created).toBeLessThanOrEqual(chunks + 2);
    }
    await reader?.cancel();
    expect(isOver).toBe(true);
  });

  test("that can't be completed ends with an error", async () => {
    async function* failing() {
      yield { id: 1 };
      throw new Error('the database is gone');
    }
    const rows = failing;
    const response = await new Hono()
      .get('/', async (context, next) => {
        const columns = { id: ({ id }: { id: number }) => id };
        const list = { name: 'a', columns, rows };
        return exportList(context, { database, logger }, list) ?? (await next());
      })
      .request('/?format=json');
    await expect(response.text()).rejects.toThrow('the database is gone');
  });
});
