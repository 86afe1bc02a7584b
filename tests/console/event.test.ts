import { describe, expect, test } from 'vitest';
import { type ConsoleService, openConsole } from '../support/browser/console-pages.ts';
import { addTeam } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const { database } = await createDatabase();
const ingest = openPipeline(database);
const pages = await openConsole(database);

let customers = 0;
function newCustomer(): string {
  customers += 1;
  return `cus_${customers}`;
}

/** Ingests an event. Returns its position in the log. */
async function deliver(event: Parameters<typeof eventBody>[0] | string): Promise<number> {
  const body = typeof event === 'string' ? event : eventBody({ createdSeconds: 1_000, ...event });
  await ingest([received(body, Date.now())]);
  const [row] = await database.query<{ position: number }>(
    'select max(position)::integer as position from instep.events',
  );
  return row?.position ?? 0;
}

/** Does something about an event, as its page would, if it offered that. */
const act = (position: number, action: string) =>
  pages.post('/actions', { one: `${action} event:${position}`, back: `/events/${position}` });

test('the decision names the newer event that made a late one stale', async () => {
  const customerId = newCustomer();
  const teamId = await addTeam(database.query, { name: 'Acme', customerId });
  await deliver({ eventId: 'evt_end', customerId, createdSeconds: 2_000, status: 'canceled' });
  const position = await deliver({ customerId });
  const { text, hrefOf } = await pages.get(`/events/${position}`);
  expect(text).toContain('stale A newer event decides: evt_end of sub_1, created 17 min later.');
  expect(hrefOf('evt_end')).toBe('/events/1');
  expect(hrefOf('Acme')).toBe(`/teams/${teamId}`);
  expect(text).toContain(`Number in the log ${position}, in the order of arrival`);
});

describe('an event that waits for a team', () => {
  test('is applied by linking a team to its customer on the page', async () => {
    const customerId = newCustomer();
    const position = await deliver({ customerId });
    const teamId = await addTeam(database.query, { name: 'Parked Inc', customerId: null });
    const linked = await pages.press(`/events/${position}`, `link customer:${customerId}`, {
      [`link customer:${customerId}`]: 'Parked Inc',
    });
    expect(linked.results).toEqual(['linked']);
    expect((await pages.get(`/teams/${teamId}`)).html).toContain('data-status="has plan"');
    expect((await pages.get(`/events/${position}`)).text).not.toMatch(/replay/i);
  });

  test('is replayed once its customer has a team, and a reload does not repeat it', async () => {
    const customerId = newCustomer();
    const position = await deliver({ eventId: 'evt_replayed', customerId });
    expect((await act(position, 'replay')).text).toContain(
      'The event still waits for a team: none is linked to its customer.',
    );
    await addTeam(database.query, { name: 'Acme', customerId });
    expect((await pages.get(`/events/${position}`)).text).toMatch(/Replay (?!.*Link team)/);
    const { url, text } = await act(position, 'replay');
    expect(url).toMatch(/^\/events\/\d+\?done=[\da-f-]{36}$/);
    expect(text).toMatch(/Done event \d+ : The event is now applied\./);
  });
});

test("Stripe's ids link to its dashboard in the mode of the key", async () => {
  const customerId = newCustomer();
  const ids = { eventId: 'evt_1A', subscriptionId: 'sub_"/../x', productId: 'prod_2' };
  const event = JSON.parse(eventBody({ ...ids, customerId }));
  const position = await deliver(JSON.stringify({ ...event, livemode: undefined }));
  const hrefsOn = async (service: ConsoleService) => {
    const { html } = await service.get(`/events/${position}`);
    return [...html.matchAll(/href="(https:[^"]*)"/g)].map(([, href]) => href);
  };
  const at = (mode: string) =>
    ['events/evt_1A', `customers/${customerId}`, 'products/prod_2'].map(
      (path) => `https://dashboard.stripe.com${mode}/${path}`,
    );
  expect(await hrefsOn(pages)).toEqual(at('/test'));
  expect(await hrefsOn(await openConsole(database, { keyMode: 'live' }))).toEqual(at(''));
});

describe('the payload', () => {
  test('is shown indented and escaped, and downloaded byte for byte', async () => {
    const body = eventBody({ customerId: newCustomer(), createdSeconds: 1_790_000_000 });
    const sent = body.replace('{', '{"html":"<script>alert(1)</script>",');
    const position = await deliver(sent);
    const { html, text } = await pages.get(`/events/${position}`);
    expect(text).toContain('"created": 1790000000');
    expect(text).toContain('"html": "<script>alert(1)</script>"');
    expect(html).not.toContain('<script>alert');
    const response = await pages.fetch(`/events/${position}/body`);
    expect(await response.text()).toBe(sent);
    expect(response.headers.get('Content-Disposition')).toContain('attachment');
  });

  test.each([
    ['has a long list', `{"list":[${Array(200_000).fill('1').join()}]}`],
    ['is nested very deeply', `{"deep":${'['.repeat(200_000)}${']'.repeat(200_000)}}`],
  ])('is bounded when it %s', async (_, body) => {
    const [row] = await database.query<{ position: number }>(
      `insert into instep.events (key, type, received_at, deliveries, outcome, body)
       values (gen_random_uuid(), 'customer.subscription.updated', now(), 1, 'unreadable', $1)
       returning position`,
      [Buffer.from(body)],
    );
    const { status, html } = await pages.get(`/events/${row?.position}`);
    expect(status).toBe(200);
    expect(html.length).toBeLessThan(1_000_000);
  });
});

test.each(['/events/999999', '/events/x', '/events/99999999999999999999'])(
  '%s is not found',
  async (path) => {
    const { status, text } = await pages.get(path);
    expect(status).toBe(404);
    expect(text).toContain('There is no event with this number');
  },
);
