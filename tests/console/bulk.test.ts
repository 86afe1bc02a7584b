import { once } from 'node:events';
import {
  type ApplicationId,
  type BulkProgress,
  BulkRuns,
  findActions,
  perform,
} from 'instep/operate';
import { createContext } from 'instep/src/operate/context.ts';
import { DatabaseUnavailable } from 'instep/src/postgres/errors.ts';
import { addTeam, readTeam } from 'instep/src/postgres/statements/teams.ts';
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
  logger: createLogger('silent'),
  now: Date.now,
  close: async () => undefined,
});

const OPERATOR = { name: 'ada', how: 'console' } as const;

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
const reader = new BulkRuns(context);
const progressOf = async (callId: string) => await reader.read(callId);

/** Waits until a bulk action has ended. */
async function ended(callId: string): Promise<BulkProgress> {
  await expect.poll(async () => (await progressOf(callId))?.state).not.toBe('running');
  return (await progressOf(callId)) as BulkProgress;
}

const waiting = async () => (await pages.get('/attention?issue=parked-events')).html;

test('what matches on all pages is dismissed in the background, and is one line of the audit', async () => {
  const { html } = await pages.get('/attention?issue=parked-events&select=matching');
  expect(html).toContain('name="all" value="matching"');
  // A button for selected rows has nothing to link.
  expect(html).not.toMatch(/name="action" value="link"/);
  const fields = { ...ALL, action: 'dismiss', note: 'Import of 2025', until: '2099-01-01' };
  const started = await pages.post('/attention', fields);
  const callId = idOf(started);
  const counts = { issue: 'parked-events', total: CUSTOMERS, failed: 0, skipped: 0 };
  expect(await ended(callId)).toMatchObject({ ...counts, state: 'done', done: CUSTOMERS });
  const each = await findActions(context, { callId }).page({ limit: CUSTOMERS + 1 });
  expect(each).toHaveLength(CUSTOMERS + 1);
  expect(await waiting()).toContain('No more issues');
  expect((await pages.get(started.url)).text).toContain(`${CUSTOMERS} of ${CUSTOMERS} done.`);
  expect(await findActions(context).page()).toMatchObject([
    { subject: 'issues:all', action: 'dismiss', isDone: true, note: 'Import of 2025', callId },
  ]);
  expect((await pages.get('/actions')).html).toContain(`href="/actions/bulk/${callId}"`);
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

/** Adds a team for each customer that its events name. */
async function suggestTeams(customerIds: readonly string[]): Promise<ApplicationId[]> {
  const teamIds: ApplicationId[] = [];
  for (const customerId of customerIds) {
    const teamId = await addTeam(query, { name: `Team of ${customerId}`, customerId: null });
    teamIds.push(teamId);
    await suggest(customerId, teamId);
  }
  return teamIds;
}

async function suggest(customerId: string, teamId: ApplicationId): Promise<void> {
  const event = JSON.parse(eventBody({ customerId, subscriptionId: `sub_of_${customerId}` }));
  event.data.object.metadata = { teamId: String(teamId) };
  await ingest([received(JSON.stringify(event), Date.now())]);
}

const customersOf = async (teamIds: readonly ApplicationId[]) =>
  await Promise.all(teamIds.map(async (id) => (await readTeam(query, id))?.customerId));

test('all customers are linked to the teams that their metadata names, and unlinked again', async () => {
  const customerIds = ['cus_010', 'cus_020', 'cus_120'];
  const teamIds = await suggestTeams(customerIds);
  await suggest('cus_030', 9_999_999);
  const asked = await pages.post('/attention', { ...ALL, action: 'link-suggested' });
  expect(asked.text).toContain('Link 3 customers?');
  for (const id of customerIds) expect(asked.text).toContain(`Team of ${id}`);
  expect(await customersOf(teamIds)).toEqual([null, null, null]);
  const confirmed = { ...ALL, action: 'link-suggested', confirmed: 'yes' };
  const started = await pages.post('/attention', confirmed);
  const counts = { total: 3, done: 3, failed: 0, skipped: CUSTOMERS - 3 };
  expect(await ended(idOf(started))).toMatchObject({ ...counts, state: 'done' });
  expect(await customersOf(teamIds)).toEqual(customerIds);
  const undone = idOf(await pages.post(started.url));
  expect(await ended(undone)).toMatchObject({ state: 'done', done: 3 });
  expect(await customersOf(teamIds)).toEqual([null, null, null]);
});

test('a team that has got another customer meanwhile keeps it, and so does one that is gone', async () => {
  const teamIds = await suggestTeams(['cus_010', 'cus_020', 'cus_030', 'cus_040']);
  const gate = new AbortController();
  const runs = new BulkRuns({
    ...context,
    database: {
      ...database,
      async transaction(work, options) {
        if (!gate.signal.aborted) await once(gate.signal, 'abort');
        return await database.transaction(work, options);
      },
    },
  });
  const request = { action: 'link-suggested', code: 'parked-events' } as const;
  const callId = await runs.start(OPERATOR, request);
  await expect.poll(async () => (await progressOf(callId))?.total).toBe(4);
  await query('update teams set provider_customer_id = $2 where id = $1', [teamIds[1], 'cus_x']);
  gate.abort();
  expect(await ended(callId)).toMatchObject({ state: 'done', done: 3, failed: 1 });
  expect((await progressOf(callId))?.failures).toMatchObject([
    { subject: 'customer:cus_020', result: { code: 'has-another-customer' } },
  ]);
  expect((await customersOf(teamIds))[1]).toBe('cus_x');
  await runs.stop();
});

test('an outage takes nothing that was done out of the audit', async () => {
  const customerIds = ['cus_010', 'cus_020'];
  const teamIds = await suggestTeams(customerIds);
  const isLinked = async () => {
    const actions = await findActions(context, { callId }).page();
    const [first] = actions.filter(({ subject }) => subject === 'customer:cus_010');
    return first?.result.code === 'linked' && first.result.outcomes !== null;
  };
  let outages = 0;
  const runs = new BulkRuns({
    ...context,
    database: {
      ...database,
      async query(statement, values) {
        // The second customer's parked events are replayed already, and the first one's action is over.
        const text = JSON.stringify(statement);
        if (outages === 0 && text.includes('cus_020') && text.includes('outcomes')) {
          await expect.poll(isLinked).toBe(true);
          outages += 1;
          throw new DatabaseUnavailable('gone');
        }
        return await database.query(statement, values);
      },
    },
  });
  const callId = await runs.start(OPERATOR, { action: 'link-suggested', code: 'parked-events' });
  expect(await ended(callId)).toMatchObject({ state: 'done', done: 2, failed: 0 });
  expect(outages).toBe(1);
  const each = await findActions(context, { callId }).page();
  expect(each.filter(({ subject }) => subject.startsWith('customer:'))).toMatchObject(
    customerIds.map(() => ({ result: { code: 'linked', former: null } })),
  );
  await ended(String(await runs.undo(OPERATOR, callId)));
  expect(await customersOf(teamIds)).toEqual([null, null]);
  await runs.stop();
});

test.each([
  ['its team is gone', 9_999_999, 'no-such-team'],
  ['its metadata names none', null, 'no-suggestion'],
])('a chosen customer is not linked if %s', async (_, teamId, code) => {
  if (teamId !== null) await suggest('cus_010', teamId);
  const subject = { kind: 'customer', id: 'cus_010' } as const;
  const { results } = await perform(context, OPERATOR, [{ action: 'link-suggested', subject }]);
  expect(results).toMatchObject([{ isDone: false, result: { code } }]);
});

test('chosen rows are linked to the teams that are suggested, after a question, and can be undone', async () => {
  const teamIds = await suggestTeams(['cus_010', 'cus_020', 'cus_030']);
  const { html } = await pages.get('/attention?issue=parked-events');
  const [, actions] = /value="customer:cus_020"[^>]* data-actions="([^"]*)"/.exec(html) ?? [];
  expect(actions?.split(' ')).toContain('link-suggested');
  const chosen: [string, string][] = [
    ['issue', 'parked-events'],
    ['action', 'link-suggested'],
    ['row', 'customer:cus_010'],
    ['row', 'customer:cus_020'],
    // Nothing is suggested for this one.
    ['row', 'customer:cus_021'],
  ];
  const asked = await pages.post('/attention', chosen);
  expect(asked.text).toContain('Link 2 customers?');
  expect(asked.text).not.toContain('cus_030');
  const linked = await pages.post('/attention', [...chosen, ['confirmed', 'yes']]);
  expect(await customersOf(teamIds)).toEqual(['cus_010', 'cus_020', null]);
  const callId = new URL(linked.url, 'http://x').searchParams.get('done') ?? '';
  await pages.post('/actions/undo', { call: callId, page: '/attention' });
  expect(await customersOf(teamIds)).toEqual([null, null, null]);
});

test('what fails is listed below the summary, and fails no other', async () => {
  for (const id of ['cus_003', 'cus_007']) await addTeam(query, { name: id, customerId: id });
  await query(`alter table teams add constraint no_plan check (subscription_status is null)`);
  try {
    const started = await pages.post('/attention', { ...ALL, action: 'replay' });
    const callId = idOf(started);
    const all = await ended(callId);
    expect(all).toMatchObject({ state: 'done', total: CUSTOMERS, done: 0, failed: CUSTOMERS });
    const { html } = await pages.get(started.url);
    expect(html).toContain('customer=cus_003');
    const [record] = await findActions(context).page();
    expect(record).toMatchObject({ isDone: false, result: { code: 'bulk', failed: CUSTOMERS } });
  } finally {
    await query('alter table teams drop constraint no_plan');
  }
});

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
  const callId = await runs.start(OPERATOR, { action: 'replay', code: 'parked-events' });
  await expect.poll(async () => (await progressOf(callId))?.total).toBe(CUSTOMERS);
  return { runs, callId, openGate: () => gate.abort() };
}

test('it is cancelled from another process, and what is done stays', async () => {
  const { runs, callId, openGate } = await startGated();
  await pages.post(`/actions/bulk/${callId}`, { cancel: 'yes' });
  openGate();
  const { state, failed, cancelledBy } = await ended(callId);
  expect({ state, cancelledBy }).toEqual({ state: 'cancelled', cancelledBy: expect.any(String) });
  expect(failed).toBeLessThan(CUSTOMERS);
  await runs.stop();
});

test('when the process is stopped, the page says so, and that the rest is unchanged', async () => {
  const { runs, callId, openGate } = await startGated();
  const stopped = runs.stop();
  openGate();
  await stopped;
  const progress = await progressOf(callId);
  expect(progress).toMatchObject({ state: 'interrupted' });
  expect(progress?.failed).toBeLessThan(CUSTOMERS);
  const { text } = await pages.get(`/actions/bulk/${callId}`);
  expect(text).toContain('The server was stopped meanwhile. The rest is unchanged.');
});

test('a process that is stopped during an outage does not wait for its end', async () => {
  let isAway = false;
  let attempts = 0;
  const runs = new BulkRuns({
    ...context,
    database: {
      ...database,
      async query(statement, values) {
        if (isAway) {
          attempts += 1;
          throw new DatabaseUnavailable('gone');
        }
        isAway = typeof statement === 'object' && statement.name === 'write_bulk_progress';
        return await database.query(statement, values);
      },
    },
  });
  const callId = await runs.start(OPERATOR, { action: 'dismiss', code: 'parked-events' });
  await expect.poll(() => attempts).toBeGreaterThan(1);
  const before = attempts;
  await runs.stop();
  expect(attempts).toBe(before + 1);
  expect(await progressOf(callId)).toMatchObject({ total: CUSTOMERS, done: 0 });
});

test('when the process is killed, the page says so after a minute', async () => {
  const runs = new BulkRuns(context);
  const callId = await runs.start(OPERATOR, { action: 'dismiss', code: 'parked-events' });
  await runs.stop();
  const running = { state: 'running', atMs: Date.now() - 61_000 };
  await query(
    `update instep.operator_actions set outcome = outcome || $1 where subject = 'issues:all'`,
    [JSON.stringify(running)],
  );
  expect(await progressOf(callId)).toMatchObject({ state: 'interrupted' });
});
