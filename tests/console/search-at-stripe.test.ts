import { createContext } from 'instep/src/operate/context.ts';
import { addTeam } from 'instep/src/postgres/statements/teams.ts';
import { createLogger } from 'instep/src/runtime/logging.ts';
import {
  ApiCollection,
  type ApiFault,
  startFakeStripeApi,
} from 'instep/src/testing/fake-stripe-api.ts';
import { beforeEach, expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { atEndOfFile } from '../support/end-of-file.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const { database } = await createDatabase();
const { query } = database;
const calls: string[] = [];
let fault: ApiFault | undefined;
let delayMs = 0;
const stripe = await startFakeStripeApi({
  customers: new ApiCollection([
    { id: 'cus_ada', email: 'ada@example.com' },
    { id: 'cus_bob', email: 'bob@example.com' },
    { id: 'cus_eve1', email: 'eve@example.com' },
    { id: 'cus_eve2', email: 'eve@example.com' },
  ]),
  get delayMs() {
    return delayMs;
  },
  onCall(path) {
    calls.push(path);
    return fault;
  },
});
atEndOfFile(() => stripe.close());
const lines: string[] = [];
const logger = createLogger('debug', { write: (line) => lines.push(line) > 0 });
const pages = await openConsole(database, { apiBase: stripe.url, logger });

await addTeam(query, { name: 'Ada Ltd', customerId: 'cus_ada' });
await addTeam(query, { name: 'grace@example.com', customerId: null });
await openPipeline(database)([receivedEvent({ eventId: 'evt_bob', customerId: 'cus_bob' })]);

beforeEach(() => {
  calls.length = 0;
  lines.length = 0;
  fault = undefined;
});

const search = (text: string) => pages.get(`/search?q=${encodeURIComponent(text)}`);
const isAsked = () => calls.some((path) => path.startsWith('/v1/customers'));

test('an email address that only Stripe knows opens the team of its customer', async () => {
  expect((await search('ada@example.com')).url).toBe('/teams/1');
});

test('its customer without a team is shown with its events, to be linked', async () => {
  const { html, text } = await search('bob@example.com');
  expect(text).toContain('Stripe knows this email address.');
  expect(text).toContain('evt_bob');
  expect(html).toContain('name="link customer:cus_bob"');
});

test('customers of the same address are all shown, also without events', async () => {
  const { html } = await search('eve@example.com');
  for (const id of ['cus_eve1', 'cus_eve2']) expect(html).toContain(`name="link customer:${id}"`);
});

test('the page says that Stripe does not know it either', async () => {
  const { text } = await search('nobody@example.com');
  expect(text).toContain('Stripe knows no customer with exactly this email address either.');
});

test('Stripe is asked only for a whole address that nothing here has', async () => {
  for (const text of ['grace@example.com', '@example.com', 'ada@', 'ada', 'cus_ada']) {
    await search(text);
  }
  expect(isAsked()).toBe(false);
});

test.each([
  ['it lacks permission', 403, 'lacks permission to read'],
  ['it fails', 500, 'did not answer'],
])(
  'the page says why Stripe was not searched: %s, and the log has no address',
  async (_, status, why) => {
    fault = { status };
    const { text, status: shown } = await search('secret.person@example.com');
    expect(shown).toBe(200);
    expect(text).toContain('Stripe was not searched for this email address.');
    expect(text).toContain(why);
    expect(text).not.toContain('Stripe knows no customer');
    expect(lines.join('')).toContain('search for a customer at Stripe failed');
    expect(lines.join('')).not.toContain('secret.person');
  },
);

test('a Stripe that does not answer delays the page by seconds only', async () => {
  delayMs = 60_000;
  try {
    const { text } = await search('slow@example.com');
    expect(text).toContain("Stripe's API did not answer in time.");
  } finally {
    delayMs = 0;
  }
});

test('without an API key, the page says that Stripe was not searched', async () => {
  const own = await openConsole(database, {
    ...createContext({
      ...{ database, stripeApi: null, planSelection: 'newest', logger },
      ...{ now: Date.now, close: async () => undefined },
    }),
  });
  const { text } = await own.get('/search?q=nobody@example.com');
  expect(text).toContain('STRIPE_SECRET_KEY is not set.');
});
