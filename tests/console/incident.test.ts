import { addTeam } from 'instep/src/postgres/statements/teams.ts';
import { beforeAll, expect, test } from 'vitest';
import { type ConsoleService, openConsole } from '../support/browser/console-pages.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const NOW_MS = Date.parse('2026-11-26T09:00:00Z');
const at = (time: string) => Date.parse(`2026-11-25T${time}Z`);
const PERIOD = '/incident?from=2026-11-25T14:00&until=2026-11-25T15:00';

let pages: ConsoleService;
const ids: Record<string, string> = {};

beforeAll(async () => {
  const { database } = await createDatabase();
  const { query } = database;
  for (const name of ['Slow', 'Slower', 'Punctual', 'Earlier']) {
    ids[name] = String(await addTeam(query, { name, customerId: `cus_${name}` }));
  }
  const ingest = openPipeline(database);
  /** An event of Stripe's time that arrived at another one. */
  async function arrive(name: string, created: string, received: string) {
    const fields = { customerId: `cus_${name}`, subscriptionId: `sub_${name}` };
    const event = receivedEvent({ ...fields, createdSeconds: at(created) / 1_000 });
    await ingest([{ ...event, receivedAtMs: at(received) }]);
  }
  await arrive('Earlier', '13:59:59', '14:40:00');
  await arrive('Punctual', '14:00:00', '14:00:05');
  await arrive('Slow', '14:10:00', '14:32:00');
  await arrive('Slow', '14:20:00', '14:32:00');
  await arrive('Slower', '14:11:00', '16:11:00');
  await arrive('Nobody', '14:12:00', '14:32:00');
  await arrive('Slow', '14:55:00', '14:56:00');
  await arrive('Earlier', '15:00:00', '15:30:00');
  const runs: [string, string, string][] = [
    ['1.0.0', '08:00:00', '14:10:00'],
    ['1.0.0', '14:30:00', '23:59:59'],
  ];
  for (const [version, started, seen] of runs) {
    await query('insert into instep.runs (version, started_at, seen_at) values ($1, $2, $3)', [
      version,
      new Date(at(started)),
      new Date(at(seen)),
    ]);
  }
  const responses: [string, number, string, number][] = [
    ['13:59:00', 503, 'DATABASE_UNAVAILABLE', 100],
    ['14:05:00', 503, 'DATABASE_UNAVAILABLE', 3],
    ['14:06:00', 503, 'DATABASE_UNAVAILABLE', 4],
    ['14:31:00', 400, 'signature-wrong', 2],
    ['14:31:00', 200, '', 50],
    ['15:00:00', 400, 'signature-wrong', 100],
  ];
  for (const [starts, status, code, number] of responses) {
    await query('insert into instep.responses values ($1, $2, $3, $4)', [
      new Date(at(starts)),
      status,
      code,
      number,
    ]);
  }
  pages = await openConsole(database, { now: () => NOW_MS });
});

test('shows the failures, the outage with the events that it delayed, and the affected teams', async () => {
  const { text, html } = await pages.get(PERIOD);
  expect(text).toContain('9 failed responses to Stripe');
  expect(text).toContain('4 of 6 events of that time arrived late, up to 2 h');
  expect(text).toContain('7 responses 503: DATABASE_UNAVAILABLE');
  expect(text).toContain('2 responses 400: signature of another secret');
  expect(text).toMatch(
    /14:10.*14:30.*Instep was not running.*; these 4 events arrived later, up to 2 h/s,
  );
  const shown = Object.keys(ids).filter((name) => html.includes(`href="/teams/${ids[name]}"`));
  expect(shown).toEqual(['Slow', 'Slower']);
  expect(text.indexOf('Slower')).toBeLessThan(text.indexOf('Slow team'));
  expect(html).toContain('href="/events?from=2026-11-25T14%3A00&amp;until=2026-11-25T15%3A00"');
});

test('exports the affected teams', async () => {
  const response = await pages.fetch(`${PERIOD}&format=csv`);
  const rows = (await response.text()).trim().split('\r\n');
  expect(rows).toEqual([
    'team,name,customer,late_events,delay_seconds,arrived_at',
    `${ids.Slower},Slower,cus_Slower,1,7200,2026-11-25T16:11:00.000Z`,
    `${ids.Slow},Slow,cus_Slow,2,1320,2026-11-25T14:32:00.000Z`,
  ]);
});

test('a quiet period says so, and the last hour is the default', async () => {
  const quiet = await pages.get('/incident?from=2026-11-25T20:00');
  expect(quiet.text).toContain('Instep was running, and no delivery was refused.');
  expect(quiet.text).toContain('No team had a late event');
  expect(quiet.html).toContain('value="2026-11-25T21:00"');
  expect((await pages.get('/incident')).html).toContain('value="2026-11-26T08:00"');
});

test.each([
  ['has not come yet', '2099-01-01T00:00'],
  ['no instance was recorded', '2020-01-01T00:00'],
])('a time that %s is not said to be without an outage', async (_, from) => {
  const { text } = await pages.get(`/incident?from=${from}`);
  expect(text).toContain('It is not known whether Instep was running');
  expect(text).not.toContain('Instep was running, and');
});

test.each([
  ['?from=noon', 'is not a time'],
  ['?from=2026-11-25T15:00&until=2026-11-25T15:00', 'Enter a later time.'],
])('%s is refused', async (query, problem) => {
  const response = await pages.fetch(`/incident${query}`);
  expect(response.status).toBe(400);
  expect(await response.text()).toContain(problem);
  expect((await pages.fetch(`/incident${query}&format=csv`)).status).toBe(400);
});

test('the overview leads to the page of an outage', async () => {
  const { html } = await pages.get('/?range=day');
  expect(html).toContain('href="/incident?from=2026-11-25T14%3A10&amp;until=2026-11-25T14%3A30"');
});
