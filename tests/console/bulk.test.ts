import { once } from 'node:events';
import { type BulkProgress, BulkRuns, findActions, readBulk } from 'instep/operate';
import { createContext } from 'instep/src/operate/context.ts';
import { addTeam } from 'instep/src/postgres/statements/teams.ts';
import { createLogger } from 'instep/src/runtime/logging.ts';
import { beforeEach, expect, test } from 'vitest';
import { openConsole, type Shown } from '../support/browser/console-pages.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { API_KEY } from '../support/secrets/test-secrets.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const { database } = await createDatabase();
const { query } = database;
const ingest = openPipeline(database);
const pages = await openConsole(database);
const context = createContext({
  database,
  stripeApi: { secretKey: API_KEY, baseUrl: new URL('http://127.0.0.1:9') },
  planSelection: 'newest',
  maxQueued: 1_000,
  logger: createLogger('silent'),
  now: Date.now,
  close: async () => undefined,
});

/** More than a page of the list has. */
const CUSTOMERS = 130;

beforeEach(async () => {
  await query(`truncate teams, instep.events, instep.subscriptions, instep.findings,
                        instep.operator_actions, instep.dismissed_events`);
  const bodies = Array.from({ length: CUSTOMERS }, (_, index) => {
    const customerId = `cus_${String(index).padStart(3, '0')}`;
    return eventBody({ customerId, subscriptionId: `sub_${index}` });
  });
  await ingest(bodies.map((body) => received(body, Date.now())));
});

const ALL = { issue: 'parked-events', all: 'matching' };
const idOf = ({ url }: Shown) => url.replace('/actions/bulk/', '').replace(/\?.*/, '');
const progressOf = async (formId: string) => await readBulk(context, formId);

/** Waits until a bulk action has ended. */
async function ended(formId: string): Promise<BulkProgress> {
  await expect.poll(async () => (await progressOf(formId))?.state).not.toBe('running');
  return (await progressOf(formId)) as BulkProgress;
}

const waiting = async () => (await pages.get('/attention?issue=parked-events')).html;

test('what matches on all pages is dismissed in the background, and is one line of the audit', async () => {
  const { html } = await pages.get('/attention?issue=parked-events&select=matching');
  expect(html).toContain('name="all" value="matching"');
  // A button for selected rows has nothing to link.
  expect(html).not.toMatch(/name="action" value="link"/);
  const fields = { ...ALL, action: 'dismiss', note: 'Import of 2025', until: '2099-01-01' };
  const started = await pages.post('/attention', fields);
  const formId = idOf(started);
  const counts = { issue: 'parked-events', total: CUSTOMERS, failed: 0, skipped: 0 };
  expect(await ended(formId)).toMatchObject({ ...counts, state: 'done', done: CUSTOMERS });
  expect(await waiting()).toContain('No more issues');
  expect((await pages.get(started.url)).text).toContain(`${CUSTOMERS} of ${CUSTOMERS} done.`);
  expect(await findActions(context)).toMatchObject([
    { subject: 'issues:all', action: 'dismiss', isDone: true, note: 'Import of 2025', formId },
  ]);
  expect((await pages.get('/actions')).html).toContain(`href="/actions/bulk/${formId}"`);
  const rows = (await pages.get('/actions?format=csv')).html.trim().split('\r\n');
  expect(rows).toHaveLength(CUSTOMERS + 2);
  expect(rows.filter((row) => row.includes('customer:cus_'))).toHaveLength(CUSTOMERS);
});

test('a bulk dismissal can be undone as a whole', async () => {
  const started = await pages.post('/attention', { ...ALL, action: 'dismiss' });
  await ended(idOf(started));
  const undone = idOf(await pages.post(started.url));
  expect(await ended(undone)).toMatchObject({ state: 'done', done: CUSTOMERS });
  expect(await waiting()).toContain(`(${CUSTOMERS})`);
});

test('what fails is listed below the summary, and fails no other', async () => {
  for (const id of ['cus_003', 'cus_007']) await addTeam(query, { name: id, customerId: id });
  await query(`alter table teams add constraint no_plan check (subscription_status is null)`);
  try {
    const started = await pages.post('/attention', { ...ALL, action: 'replay' });
    const formId = idOf(started);
    const all = await ended(formId);
    expect(all).toMatchObject({ state: 'done', total: CUSTOMERS, done: 0, failed: CUSTOMERS });
    const { html } = await pages.get(started.url);
    expect(html).toContain('customer=cus_003');
    const [record] = await findActions(context);
    expect(record).toMatchObject({ isDone: false, result: { code: 'bulk', failed: CUSTOMERS } });
  } finally {
    await query('alter table teams drop constraint no_plan');
  }
});

const OPERATOR = { name: 'ada', how: 'console' } as const;

/** A bulk action of another process, whose first actions wait for the gate. */
async function startGated() {
  const gate = new AbortController();
  const runs = new BulkRuns({
    ...context,
    async ingest(events) {
      if (!gate.signal.aborted) await once(gate.signal, 'abort');
      return await context.ingest(events);
    },
  });
  const formId = await runs.start(OPERATOR, { action: 'replay', code: 'parked-events' });
  await expect.poll(async () => (await progressOf(formId))?.total).toBe(CUSTOMERS);
  return { runs, formId, openGate: () => gate.abort() };
}

test('it is cancelled from another process, and what is done stays', async () => {
  const { runs, formId, openGate } = await startGated();
  await pages.post(`/actions/bulk/${formId}`, { cancel: 'yes' });
  openGate();
  const { state, failed, cancelledBy } = await ended(formId);
  expect({ state, cancelledBy }).toEqual({ state: 'cancelled', cancelledBy: expect.any(String) });
  expect(failed).toBeLessThan(CUSTOMERS);
  await runs.stop();
});

test('when the process is stopped, the page says so, and that the rest is unchanged', async () => {
  const { runs, formId, openGate } = await startGated();
  const stopped = runs.stop();
  openGate();
  await stopped;
  const progress = await progressOf(formId);
  expect(progress).toMatchObject({ state: 'interrupted' });
  expect(progress?.failed).toBeLessThan(CUSTOMERS);
  const { text } = await pages.get(`/actions/bulk/${formId}`);
  expect(text).toContain('The server was stopped meanwhile. The rest is unchanged.');
});

test('when the process is killed, the page says so after a minute', async () => {
  const runs = new BulkRuns(context);
  const formId = await runs.start(OPERATOR, { action: 'dismiss', code: 'parked-events' });
  await runs.stop();
  const running = { state: 'running', atMs: Date.now() - 61_000 };
  await query(
    `update instep.operator_actions set outcome = outcome || $1 where subject = 'issues:all'`,
    [JSON.stringify(running)],
  );
  expect(await progressOf(formId)).toMatchObject({ state: 'interrupted' });
});
