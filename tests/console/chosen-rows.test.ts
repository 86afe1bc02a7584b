import type { ApplicationId } from 'instep/operate';
import { beforeEach, expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { fieldsOf } from '../support/browser/forms.ts';
import { addTeam, readTeam } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const { database } = await createDatabase();
const { query } = database;
const ingest = openPipeline(database);
const pages = await openConsole(database);

/** More than one form can choose. */
const CUSTOMERS = 205;
const MAX_CHOSEN = 200;

beforeEach(async () => {
  await query(`truncate teams, instep.events, instep.customers, instep.findings,
                        instep.operator_actions`);
  const bodies = Array.from({ length: CUSTOMERS }, (_, index) => {
    const customerId = `cus_${String(index).padStart(3, '0')}`;
    return eventBody({ customerId, subscriptionId: `sub_${index}` });
  });
  await ingest(bodies.map((body) => received(body, Date.now())));
});

type Field = [name: string, value: string];

const chosen = (action: string, subjects: readonly string[]): Field[] => [
  ['issue', 'parked-events'],
  ['back', '/attention?issue=parked-events'],
  ['action', action],
  ...subjects.map((subject): Field => ['row', subject]),
];

/** The form that links all rows whose field names a team already. */
const suggestedIn = (html: string): Field[] => [
  ...[...html.matchAll(/name="link (customer:[^"]*)" value="([^"]+)"/g)].flatMap(
    ([, subject = '', id = '']): Field[] => [
      ['row', subject],
      [`link ${subject}`, id],
    ],
  ),
  ['action', 'link'],
  ['back', '/attention?issue=parked-events'],
];

/** How many customers are dismissed now. */
async function countDismissed(): Promise<number> {
  const acted = await query<{ action: string }>('select action from instep.operator_actions');
  return acted.reduce((sum, { action }) => sum + (action === 'dismiss' ? 1 : -1), 0);
}

/** Adds a team for each customer that its events name. */
async function suggestTeams(customerIds: readonly string[]): Promise<ApplicationId[]> {
  const teamIds: ApplicationId[] = [];
  for (const customerId of customerIds) {
    const teamId = await addTeam(query, { name: `Team of ${customerId}`, customerId: null });
    teamIds.push(teamId);
    const event = JSON.parse(eventBody({ customerId, subscriptionId: `sub_of_${customerId}` }));
    event.data.object.metadata = { teamId: String(teamId) };
    await ingest([received(JSON.stringify(event), Date.now())]);
  }
  return teamIds;
}

const customersOf = async (teamIds: readonly ApplicationId[]) =>
  await Promise.all(teamIds.map(async (id) => (await readTeam(query, id))?.customerId));

test('200 rows are selected by a link, dismissed by one form and restored by another', async () => {
  const { html } = await pages.get('/attention?issue=parked-events&select=all');
  const rows = [...html.matchAll(/name="row" value="([^"]*)" checked/g)].map(([, row = '']) => row);
  expect(rows).toHaveLength(MAX_CHOSEN);
  const dismissed = await pages.post('/actions', [
    ...chosen('dismiss', rows),
    ['confirmed', 'yes'],
  ]);
  expect(dismissed.html.match(/data-result="dismissed"/g)).toHaveLength(MAX_CHOSEN);
  expect(await countDismissed()).toBe(MAX_CHOSEN);
  const restored = await pages.post('/actions', fieldsOf(dismissed.html, 'restore'));
  expect(restored.html.match(/data-result="restored"/g)).toHaveLength(MAX_CHOSEN);
  expect(await countDismissed()).toBe(0);
});

test('more than 200 rows are refused, with the limit, and nothing is changed', async () => {
  const subjects = Array.from({ length: MAX_CHOSEN + 1 }, (_, index) => `customer:cus_${index}`);
  const { status, text } = await pages.post('/actions', chosen('dismiss', subjects));
  expect(status).toBe(400);
  expect(text).toContain('At most 200 rows');
  expect(await query('select from instep.operator_actions')).toEqual([]);
});

test('customers are linked to the teams that their metadata names, and unlinked', async () => {
  const customerIds = ['cus_010', 'cus_020', 'cus_030'];
  const teamIds = await suggestTeams(customerIds);
  const { html } = await pages.get('/attention?issue=parked-events');
  const linked = await pages.post('/actions', suggestedIn(html));
  expect(linked.html.match(/data-result="linked"/g)).toHaveLength(3);
  expect(await customersOf(teamIds)).toEqual(customerIds);
  // A colleague has given one of them another customer since.
  await query('update teams set provider_customer_id = $2 where id = $1', [teamIds[0], 'cus_x']);
  const reversed = await pages.post('/actions', fieldsOf(linked.html, 'unlink'));
  expect(reversed.html).toContain('data-result="has-another-customer"');
  expect(await customersOf(teamIds)).toEqual(['cus_x', null, null]);
});
