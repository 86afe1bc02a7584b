import { createLogger } from 'instep';
import type { IssueCode } from 'instep/operate';
import { DatabaseBusy } from 'instep-engine/postgres';
import { beforeEach, describe, expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import type { Ingest } from '../support/internals/ingest.ts';
import { FailedJobs } from '../support/internals/repair.ts';
import { recordComparison } from '../support/service/comparison.ts';
import { useConsole } from '../support/service/console-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const GREEN = 'data-verdict="in-sync"';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const service = useConsole();
const run = (statement: string, values?: readonly unknown[]) =>
  service.database.query(statement, values);

/** The page without its drawings. */
async function load(path = '/'): Promise<string> {
  const response = await service.newOperator().get(path);
  expect(response.status).toBe(200);
  return (await response.text()).replace(/<path [^>]*>/g, '');
}

let ingest: Ingest;

type EventFields = Parameters<typeof eventBody>[0] & {
  receivedAgoMs?: number;
  delaySeconds?: number;
};

/** Ingests an event that was received some time ago, with some delay. */
async function deliver({
  receivedAgoMs = 0,
  delaySeconds = 2,
  ...fields
}: EventFields): Promise<void> {
  const receivedAtMs = service.clock.nowMs - receivedAgoMs;
  const createdSeconds = Math.floor(receivedAtMs / 1_000) - delaySeconds;
  await ingest([received(eventBody({ createdSeconds, ...fields }), receivedAtMs)]);
}

beforeEach(async () => {
  ingest = openPipeline(service.database);
  service.clock.nowMs = Date.now();
  await run('truncate instep.events, instep.customers, teams');
  await run('truncate instep.products, instep.findings');
  await run(`update instep.leased_jobs
                set started_at = null, ended_at = null, progress = null, failure_code = null,
                    failing_since = null, failed_at = null, attempt_at = null`);
  await run('truncate instep.refusals, instep.questions');
  await run(`insert into teams (name, provider_customer_id) values ('Team', 'cus_1')`);
  await recordComparison(service.database.query);
});

describe('it is not green', () => {
  beforeEach(() => deliver({}));
  const verdictOf = async () => /data-verdict="([^"]*)"/.exec(await load())?.[1];

  test('before a comparison of all teams was completed', async () => {
    const listing = `progress || '{"phase": "comparing", "completed": null}'`;
    for (const progress of ['null', listing]) {
      await run(`update instep.leased_jobs set progress = ${progress} where name = 'reconcile'`);
      expect(await verdictOf()).toBe('unproven');
      expect(await load()).toContain('id="reconciled" href="/compare"');
    }
  });

  test('while teams can not be counted, without a team, and without a delivery', async () => {
    await service.database.transaction(async (query) => {
      await query('lock table instep.questions in access exclusive mode');
      const page = await load();
      expect(page).toContain('data-verdict="unproven"');
      expect(page).toContain('Too many teams');
    });
    await run('update teams set provider_customer_id = null');
    expect(await verdictOf()).toBe('unproven');
    await recordComparison(service.database.query);
    await run('update instep.events set deliveries = 0');
    expect(await verdictOf()).toBe('unproven');
  });

  test('when the last comparison is older than its interval', async () => {
    await recordComparison(service.database.query, service.clock.nowMs - 24 * HOUR_MS);
    expect(await verdictOf()).toBe('in-sync');
    await recordComparison(service.database.query, service.clock.nowMs - 25 * HOUR_MS);
    expect(await verdictOf()).toBe('warning');
    expect(await load()).toContain('<li data-issue="comparison-overdue">');
  });

  test('while a job fails, until another process has completed it', async () => {
    const { query } = service.database;
    const jobs = new FailedJobs(query, createLogger('silent'));
    await jobs.failed('catch-up', new RangeError('Stripe is away'), 2_000);
    expect(await verdictOf()).toBe('in-sync');
    await run(`update instep.leased_jobs set failing_since = now() - interval '2 minutes'`);
    expect(await verdictOf()).toBe('warning');
    expect(await load()).toContain('<li data-issue="job-failed">');
    await run(`update instep.leased_jobs set ended_at = now() where name = 'catch-up'`);
    expect(await verdictOf()).toBe('in-sync');
    // It rests, so that the next attempt is in an hour.
    await jobs.failed('parked-events', new RangeError('forbidden'), HOUR_MS);
    expect(await verdictOf()).toBe('warning');
    await new FailedJobs(query, createLogger('silent')).succeeded('parked-events');
    expect(await verdictOf()).toBe('in-sync');
  });
});

describe('the chart', () => {
  test('counts the events of the last day by outcome, and links to them', async () => {
    service.clock.nowMs = Date.UTC(2026, 9, 14, 15, 30, 20);
    await deliver({ receivedAgoMs: 5 * MINUTE_MS });
    await deliver({ receivedAgoMs: 5 * HOUR_MS, createdSeconds: 1_000 });
    await deliver({ receivedAgoMs: 25 * HOUR_MS, createdSeconds: 1_001 });
    const page = await load();
    expect(page).toMatch(/>Events per 15 minutes: 2 in total, of which\s+0 need attention</);
    const ticks = /<svg class="ticks"[^>]*>(.*?)<\/svg>/.exec(page)?.[1] ?? '';
    expect(ticks.match(/>\d\d:\d\d</g)).toEqual(['>18:00<', '>00:00<', '>06:00<', '>12:00<']);
    const slot = '/events?from=2026-10-14T15%3A15&amp;until=2026-10-14T15%3A30';
    expect(page).toContain(`<a href="${slot}" tabindex="-1"><title>1 applied</title>`);
  });

  test('says when nothing happened, and when there are too many events to count', async () => {
    await deliver({ receivedAgoMs: 25 * HOUR_MS });
    expect(await load()).toContain('No events in the last day');
    const busy = () => Promise.reject(new DatabaseBusy('canceling statement', {}));
    const { get } = await openConsole({ ...service.database, transaction: busy });
    expect((await get('/')).text).toContain('too many events');
  });
});

test('it refreshes itself, unless updates are off', async () => {
  const live = await load();
  expect(live).toContain('hx-get="/" hx-trigger="every 5s, refresh" hx-select="#overview"');
  expect(live).toContain('href="/?live=off"');
  expect(await load('/?live=off')).not.toContain('hx-get="/"');
});

test('it shows the teams by status', async () => {
  await run(
    `insert into teams (name, subscription_status)
     select 'x', (array['active', 'canceled', '<script>alert(1)</script>'])[1 + number % 3]
       from generate_series(1, 4500) as number`,
  );
  const page = await load();
  expect(page.match(/1,500/g)).toHaveLength(3);
  expect(page).toContain('no subscription');
  expect(page).toContain('another status');
  expect(page).not.toContain('alert(1)');
});

describe('an issue has a remedy', () => {
  beforeEach(() => deliver({}));

  async function expectIssue(code: IssueCode, remedy: string, count = 1): Promise<void> {
    const page = await load();
    expect(page).not.toContain(GREEN);
    expect(page).toContain(`>${count} issue`);
    expect(page).toContain(`<li data-issue="${code}">`);
    expect(page).toContain(remedy);
  }

  test('parked events, after 10 minutes', async () => {
    const attention = () => load('/attention?issue=parked-events');
    await deliver({ customerId: 'cus_unknown' });
    const young = await load();
    expect(young).toContain(GREEN);
    expect(young).toContain('<p data-issue="parked-events">');
    expect(young).toContain(
      'id="notice-parked-events" class="button" href="/attention?issue=parked-events"',
    );
    expect(await attention()).toContain('(1)');
    service.clock.nowMs += 11 * MINUTE_MS;
    await deliver({ customerId: 'cus_unknown_too' });
    await expectIssue('parked-events', 'href="/attention?issue=parked-events"', 2);
    expect(await attention()).toContain('(2)');
  });

  test.each([
    [{ livemode: true }, 'events-in-other-mode', 'a separate Instep'],
    [{ account: 'acct_2' }, 'events-of-other-accounts', 'Register'],
  ] as const)('events that do not match the API key: %j', async (members, code, remedy) => {
    const body = JSON.stringify({ ...JSON.parse(eventBody()), ...members });
    await ingest([received(body, service.clock.nowMs)]);
    await expectIssue(code, remedy);
  });

  test.each([
    ['missed event', 'out-of-sync'],
    ['changed by hand', 'changed-by-hand'],
    ['plan refused', 'plan-refused'],
    ['unknown customer', 'unknown-customer'],
  ] as const)('an issue that a comparison found: %s', async (problem, code) => {
    await run(
      `insert into instep.findings (customer_id, team_id, problem)
       select provider_customer_id, id::text, $1 from teams`,
      [problem],
    );
    await expectIssue(code, `href="/attention?issue=${code}"`);
    await run('truncate instep.findings');
    expect(await load()).toContain(GREEN);
  });
});
