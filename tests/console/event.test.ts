import { describe, expect, test } from 'vitest';
import { type ConsoleService, openConsole } from '../support/browser/console-pages.ts';
import { addTeam } from '../support/internals/rows.ts';
import { eventBody, received } from '../support/stripe/events.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const LINK = 'update teams set provider_customer_id = $2 where id = $1';

const account = await openAccount();
const { database, ingest } = account;
const pages: ConsoleService = await openConsole(database);

let customers = 0;
function newCustomer(): string {
  customers += 1;
  return `cus_${customers}`;
}

const addTeamOf = (customerId: string) => addTeam(database.query, { name: 'Acme', customerId });

/** Ingests an event. Returns its position in the log. */
async function deliver(fields: Parameters<typeof eventBody>[0]): Promise<number> {
  return await deliverBody(eventBody(fields));
}

async function deliverBody(body: string): Promise<number> {
  const event = received(body, Date.now());
  await ingest([event]);
  return await positionOf(event.key);
}

async function positionOf(key: string): Promise<number> {
  const [row] = await database.query<{ position: number }>(
    'select position from instep.events where key = $1',
    [key],
  );
  return row?.position ?? 0;
}

/** Does something about an event, as its page would, if it offered that. */
const act = (position: number, action: string) =>
  pages.post('/actions', { one: `${action} event:${position}`, back: `/events/${position}` });

describe('the decision', () => {
  test('names the newer event that made a late one stale', async () => {
    const customerId = newCustomer();
    const teamId = await addTeamOf(customerId);
    await deliver({ eventId: 'evt_end', customerId, createdSeconds: 2_000, status: 'canceled' });
    const position = await deliver({ customerId, createdSeconds: 1_000, status: 'active' });
    const { text, html } = await pages.get(`/events/${position}`);
    expect(text).toContain('stale A newer event decides: evt_end of sub_1 , created 17 min later.');
    expect(html).toContain('<a href="/events/1"><bdi>evt_end</bdi></a>');
    expect(text).toContain(`Number in the log ${position}, in the order of arrival`);
    expect(html).toContain(`href="/teams/${teamId}"`);
    expect(text.match(new RegExp(`Acme team ${teamId}`, 'g'))).toHaveLength(2);
  });
});

test('a parked event is applied by linking a team to its customer on the page', async () => {
  const customerId = newCustomer();
  const position = await deliver({ customerId, createdSeconds: 1_000 });
  const teamId = await addTeam(database.query, { name: 'Parked Inc', customerId: null });
  const { html, text } = await pages.get(`/events/${position}`);
  expect(text).toMatch(/Link team Facts/);
  expect(html).not.toContain('<code>instep');
  await pages.post('/actions', [
    [`link customer:${customerId}`, 'Parked Inc'],
    ['one', `link customer:${customerId}`],
  ]);
  expect((await account.planOf(teamId))?.plan.subscriptionStatus).toBe('active');
  expect((await pages.get(`/events/${position}`)).text).not.toMatch(/replay/i);
});

describe('Replay', () => {
  test('applies a parked event once a team is linked to its customer', async () => {
    const customerId = newCustomer();
    const eventId = 'evt_replayed';
    const position = await deliver({ eventId, customerId, createdSeconds: 1_000 });
    expect((await pages.get(`/events/${position}`)).text).toContain(
      'waiting for a team No team is linked',
    );
    expect((await act(position, 'replay')).text).toContain(
      'The event still waits for a team: none is linked to its customer.',
    );

    const teamId = await addTeam(database.query, { name: 'Acme', customerId: null });
    await database.query(LINK, [teamId, customerId]);
    expect((await pages.get(`/events/${position}`)).text).toMatch(/Replay (?!.*Link team)/);
    const { status, text } = await act(position, 'replay');
    expect(status).toBe(200);
    expect(text).toContain('Done evt_replayed : The event is now applied.');
    expect((await account.planOf(teamId))?.plan.subscriptionStatus).toBe('active');
  });
});

test('a replay redirects, so that a reload does not repeat it', async () => {
  const position = await deliver({ customerId: newCustomer(), createdSeconds: 1_000 });
  const { url } = await act(position, 'replay');
  expect(url).toMatch(/^\/events\/\d+\?done=[\da-f-]{36}$/);
  expect((await pages.get(`/events/${position}?done=unknown`)).text).not.toContain('Failed');
});

test("Stripe's ids link to its dashboard in the mode of the key", async () => {
  const customerId = newCustomer();
  const fields = {
    eventId: 'evt_1A',
    customerId,
    subscriptionId: 'sub_"/../x',
    productId: 'prod_2',
  };
  const event = JSON.parse(eventBody({ ...fields, createdSeconds: 1_000 }));
  const position = await deliverBody(JSON.stringify({ ...event, livemode: undefined }));
  const hrefsOn = async (service: ConsoleService) => {
    const { html } = await service.get(`/events/${position}`);
    return [...html.matchAll(/href="(https:[^"]*)"/g)].map(([, href]) => href);
  };
  const at = (mode: string) => [
    `https://dashboard.stripe.com${mode}/events/evt_1A`,
    `https://dashboard.stripe.com${mode}/customers/${customerId}`,
    `https://dashboard.stripe.com${mode}/products/prod_2`,
  ];
  expect(await hrefsOn(pages)).toEqual(at('/test'));
  expect(await hrefsOn(await openConsole(database, { keyMode: 'live' }))).toEqual(at(''));
});

describe('the payload', () => {
  test('is shown indented and escaped', async () => {
    const customerId = newCustomer();
    const body = eventBody({ customerId, createdSeconds: 1_790_000_000 });
    const position = await deliverBody(body.replace('{', '{"html":"<script>alert(1)</script>",'));
    const { html, text } = await pages.get(`/events/${position}`);
    expect(text).toContain('"created": 1790000000');
    expect(text).toContain('"html": "<script>alert(1)</script>"');
    expect(html).not.toContain('<script>alert');
  });

  test('can be downloaded byte for byte', async () => {
    const body = eventBody({ customerId: newCustomer(), createdSeconds: 1_000 });
    const position = await deliverBody(body);
    const response = await pages.fetch(`/events/${position}/body`);
    expect(await response.text()).toBe(body);
    expect(response.headers.get('Content-Disposition')).toContain('attachment');
  });

  test.each([
    [
      'has a long list',
      JSON.stringify({ list: Array.from({ length: 200_000 }, (_, index) => index) }),
    ],
    ['is nested very deeply', `{"deep":${'['.repeat(200_000)}${']'.repeat(200_000)}}`],
  ])('is bounded when it %s', async (_, body) => {
    const { status, html } = await pages.get(`/events/${await write(Buffer.from(body))}`);
    expect(status).toBe(200);
    expect(html.length).toBeLessThan(1_000_000);
  });
});

/** Writes an event with any body directly into the log. */
async function write(body: Uint8Array): Promise<number> {
  const [row] = await database.query<{ position: number }>(
    `insert into instep.events (key, type, received_at, deliveries, outcome, body)
     values (gen_random_uuid(), 'customer.subscription.updated', now(), 1, 'unreadable', $1)
     returning position`,
    [body],
  );
  return row?.position ?? 0;
}

test.each(['/events/999999', '/events/0', '/events/x', '/events/99999999999999999999'])(
  '%s is not found',
  async (path) => {
    const { status, text } = await pages.get(path);
    expect(status).toBe(404);
    expect(text).toContain('There is no event with this number');
  },
);
