import { Hono } from 'hono';
import { createLogger } from 'instep';
import { exportList } from 'instep-console/src/export.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { addTeam } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const { database } = await createDatabase();
const pages = await openConsole(database);

const FORMULA = '=HYPERLINK("http://example.com","Acme")';
const EVENTS = 450;

beforeAll(async () => {
  const { query } = database;
  await addTeam(query, { name: FORMULA, customerId: 'cus_acme' });
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

test('all events of a filter are exported as CSV, the newest first', async () => {
  const { html } = await pages.get('/events?search=cus_acme');
  expect(html).toContain('href="/events?search=cus_acme&amp;format=csv"');
  const csv = await download('/events?search=cus_acme&format=csv');
  expect(csv.type).toBe('text/csv; charset=utf-8');
  expect(csv.disposition).toBe('attachment; filename="events.csv"');
  const [head, first, ...others] = linesOf(csv.text);
  expect(head).toMatch(/^position,received_at,created_at,outcome,event,type,status/);
  expect(first).toMatch(
    /^\d+,2023-.*Z,1970-.*Z,applied,evt_acme_449,.*,canceled,prod_1,cus_acme,sub_1,1$/,
  );
  expect(others).toHaveLength(EVENTS - 1);
});

test('all teams of a filter are exported', async () => {
  const all = linesOf((await download('/teams?format=csv')).text);
  expect(all).toHaveLength(1_502);
  expect(all[0]).toBe(
    'id,name,status,plan,product,subscription,customer,lost_plan,lost_product,due_since',
  );
  const [, first, ...others] = linesOf((await download('/teams?search=team+15&format=csv')).text);
  expect(first).toMatch(/^\d+,Team 15,/);
  expect(others).toHaveLength(11);
});

test('everything that needs attention is exported, also by kind', async () => {
  await database.query(
    `insert into instep.findings (customer_id, team_id, problem, plan, should_be)
     select provider_customer_id, id::text, 'plan refused', null, '{"planName":"Pro"}'
       from teams where provider_customer_id = 'cus_acme'`,
  );
  const { html } = await pages.get('/attention?issue=parked-events');
  expect(html).toContain('href="/attention?issue=parked-events&amp;format=csv"');
  const [head, refused, ...others] = linesOf((await download('/attention?format=csv')).text);
  expect(head).toBe('issue,since,team,name,customer,reason,is,should_be');
  expect(refused).toMatch(/^plan-refused,.*cus_acme.*The database refuses the plan/);
  expect(refused).toContain('"{""planName"":""Pro""}"');
  expect(others).toEqual([expect.stringMatching(/^parked-events,[^,]+,,,cus_nobody,,,$/)]);
  const parked = linesOf((await download('/attention?issue=parked-events&format=csv')).text);
  expect(parked).toHaveLength(2);
});

test('everything that operators did is exported, the newest first', async () => {
  await database.query(
    `insert into instep.operator_actions
            (form_id, subject, action, is_done, operator, operator_how, outcome, acted_at)
     select gen_random_uuid(), 'team:' || number, 'compare', true, 'ada', 'console',
            '{"code":"in-sync"}', now() - number / 3 * interval '1 minute'
       from generate_series(1200, 1, -1) as number`,
  );
  expect((await pages.get('/actions')).html).toContain('href="/actions?format=csv"');
  const { text, disposition } = await download('/actions?format=csv');
  expect(disposition).toBe('attachment; filename="actions.csv"');
  const [head, first, ...others] = linesOf(text);
  expect(head).toBe('acted_at,operator,operator_how,action,subject,is_done,code,result,note');
  expect(first).toMatch(/Z,ada,console,compare,team:1,true,in-sync,[^,]+,$/);
  expect(new Set(others).size).toBe(1_199);
});

describe('a file', () => {
  const columns = { text: (text: string) => text };
  const download = async (rows: AsyncIterable<string>) =>
    await new Hono()
      .get('/', async (context, next) => {
        const list = { name: 'a', columns, rows };
        return exportList(context, createLogger('silent'), list) ?? (await next());
      })
      .request('/?format=csv');

  test('is read no faster than it is sent, and no further when the receiver is gone', async () => {
    let created = 0;
    let isOver = false;
    async function* endless() {
      try {
        for (;;) {
          created += 1;
          yield 'x'.repeat(32_768);
        }
      } finally {
        isOver = true;
      }
    }
    const reader = (await download(endless())).body?.getReader();
    for (let chunks = 1; chunks <= 5; chunks += 1) {
      await reader?.read();
      expect(created).toBeLessThanOrEqual(chunks + 2);
    }
    await reader?.cancel();
    await expect.poll(() => isOver).toBe(true);
  });

  test("that can't be completed ends with an error", async () => {
    async function* failing() {
      yield 'first';
      throw new Error('the database is gone');
    }
    await expect((await download(failing())).text()).rejects.toThrow('the database is gone');
  });
});
