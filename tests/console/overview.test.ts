import type { Check } from 'instep/operate';
import { DatabaseBusy } from 'instep-engine/postgres';
import { beforeEach, describe, expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { recordComparison } from '../support/service/comparison.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const GREEN = 'data-verdict="in-sync"';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const { database } = await createDatabase();
const { query } = database;
let nowMs = 0;
let checksRun = 0;

async function* examine(): AsyncGenerator<Check> {
  checksRun += 1;
  if (checksRun === 1) throw new RangeError('defect');
  yield { name: 'schema', state: 'ok', result: 'up to date', advice: null };
  yield { name: 'API key', state: 'warning', result: 'names no mode', advice: 'copy all of it' };
  yield { name: 'endpoint', state: 'failure', result: 'is <disabled>', advice: 'enable it' };
}

const pages = await openConsole(database, { now: () => nowMs, examine });

/** The page without its drawings. */
async function load(path = '/'): Promise<string> {
  const { html, status } = await pages.get(path);
  expect(status).toBe(200);
  return html.replace(/<path [^>]*>/g, '');
}

/** Ingests an event that was received some time ago, 2 seconds after it was created. */
async function deliver(receivedAgoMs = 0, fields: Parameters<typeof eventBody>[0] = {}) {
  const receivedAtMs = nowMs - receivedAgoMs;
  const createdSeconds = Math.floor(receivedAtMs / 1_000) - 2;
  await openPipeline(database)([received(eventBody({ createdSeconds, ...fields }), receivedAtMs)]);
}

beforeEach(async () => {
  nowMs = Date.now();
  await query(
    `truncate instep.events, instep.customers, teams, instep.findings, instep.asked_customers`,
  );
  await query(`insert into teams (name, provider_customer_id) values ('Team', 'cus_1')`);
  await recordComparison(query);
});

describe('the chart', () => {
  test('counts the events of the last day by outcome, and links to them', async () => {
    nowMs = Date.UTC(2026, 9, 14, 15, 30, 20);
    await deliver(5 * MINUTE_MS);
    await deliver(5 * HOUR_MS, { createdSeconds: 1_000 });
    await deliver(25 * HOUR_MS, { createdSeconds: 1_001 });
    const page = await load();
    expect(page).toMatch(/>Events per 15 minutes: 2 in total, of which\s+0 need attention</);
    const ticks = /<svg class="ticks"[^>]*>(.*?)<\/svg>/.exec(page)?.[1] ?? '';
    expect(ticks.match(/>\d\d:\d\d</g)).toEqual(['>18:00<', '>00:00<', '>06:00<', '>12:00<']);
    const slot = '/events?from=2026-10-14T15%3A15&amp;until=2026-10-14T15%3A30';
    expect(page).toContain(`<a href="${slot}" tabindex="-1"><title>1 applied</title>`);
  });

  test('says when nothing happened, and when there are too many events to count', async () => {
    await deliver(25 * HOUR_MS);
    expect(await load()).toContain('No events in the last day');
    const busy = () => Promise.reject(new DatabaseBusy('canceling statement', {}));
    const { get } = await openConsole({ ...database, transaction: busy });
    expect((await get('/')).text).toContain('too many events');
  });
});

test('it refreshes itself, unless updates are off', async () => {
  const live = await load();
  expect(live).toContain('hx-get="/" hx-trigger="every 5s, refresh" hx-select="#overview"');
  expect(live).toContain('href="/?live=off"');
  expect(await load('/?live=off')).not.toContain('hx-get="/"');
});

describe('an issue has a remedy', () => {
  beforeEach(() => deliver());

  test('and is a notice at first, if it is probably over soon', async () => {
    await deliver(0, { customerId: 'cus_unknown' });
    const young = await load();
    expect(young).toContain(GREEN);
    expect(young).toMatch(
      /<p data-issue="parked-events">.*href="\/attention\?issue=parked-events"/s,
    );
    nowMs += 11 * MINUTE_MS;
    const old = await load();
    expect(old).not.toContain(GREEN);
    expect(old).toContain('<li data-issue="parked-events">');
  });

  test.each([
    [{ livemode: true }, 'events-in-other-mode', 'a separate Instep'],
    [{ account: 'acct_2' }, 'events-of-other-accounts', 'Register'],
  ] as const)('if events do not match the API key: %j', async (members, code, remedy) => {
    const body = JSON.stringify({ ...JSON.parse(eventBody()), ...members });
    await openPipeline(database)([received(body, nowMs)]);
    const page = await load();
    expect(page).not.toContain(GREEN);
    expect(page).toContain(`<li data-issue="${code}">`);
    expect(page).toContain(remedy);
  });

  test('where a comparison found it', async () => {
    await query(
      `insert into instep.findings (customer_id, team_id, problem)
       select provider_customer_id, id::text, 'missed event' from teams`,
    );
    const page = await load();
    expect(page).toContain('>1 issue needs attention.<');
    expect(page).toContain('href="/attention?issue=out-of-sync"');
  });
});

test('the checks of the doctor are loaded, failures first; Stripe is asked once, or again after an error', async () => {
  expect(await load()).toContain('hx-get="/checks"');
  expect((await pages.get('/checks')).status).toBe(500);
  const { text, html } = await pages.get('/checks');
  expect(text).toMatch(/endpoint failure is <disabled> → enable it API key warning .* schema ok/);
  expect(html).not.toContain('<disabled>');
  await pages.get('/checks');
  expect(checksRun).toBe(2);
});
