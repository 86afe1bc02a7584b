import { beforeEach, describe, expect, test } from 'vitest';
import { sumStatistics } from '../../../src/event-log/sum-statistics.ts';
import type { Ingest } from '../../../src/ingest/pipeline.ts';
import { countTeamsInTurn } from '../../../src/queries/team-counts.ts';
import { useConsole } from '../../support/service/console-service.ts';
import { openPipeline } from '../../support/service/pipelines.ts';
import { eventBody, received } from '../../support/stripe/events.ts';

const GREEN = 'Nobody has to do anything.';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const service = useConsole();
const run = (statement: string, values?: readonly unknown[]) =>
  service.database.query(statement, values);

/** The page as it is sent, without what only draws. */
async function look(path = '/'): Promise<string> {
  const response = await service.newOperator().get(path);
  expect(response.status).toBe(200);
  return (await response.text()).replace(/<path [^>]*>/g, '');
}

let ingest: Ingest;

type Made = Parameters<typeof eventBody>[0] & { receivedAgoMs?: number; delaySeconds?: number };

/** An event that came so long ago, so late. */
async function deliver({ receivedAgoMs = 0, delaySeconds = 2, ...made }: Made): Promise<void> {
  const receivedAtMs = service.clock.nowMs - receivedAgoMs;
  const createdSeconds = Math.floor(receivedAtMs / 1_000) - delaySeconds;
  await ingest([received(eventBody({ createdSeconds, ...made }), receivedAtMs)]);
}

beforeEach(async () => {
  ingest = openPipeline(service.database);
  service.clock.nowMs = Date.now();
  await run('truncate instep.events, instep.subscriptions, instep.statistics, teams');
  await run('truncate instep.statistics_progress, instep.statistics_parked, instep.products');
  await run(`update instep.team_counts set counted_at = '-infinity', by_status = null`);
  await run('update instep.leased_jobs set started_at = null, ended_at = null, progress = null');
  await run(`insert into teams (name, provider_customer_id) values ('Team', 'cus_1')`);
});

test('before the first event it says how to get one', async () => {
  const page = await look();
  expect(page).toContain('No events yet');
  expect(page).toContain('instep doctor');
  expect(page).not.toContain(GREEN);
});

test('when all is in step it is green', async () => {
  await deliver({});
  expect(await look()).toContain(GREEN);
});

describe('charts', () => {
  test('every range counts what came in it, by outcome', async () => {
    await deliver({ receivedAgoMs: 5 * MINUTE_MS });
    await deliver({ receivedAgoMs: 5 * MINUTE_MS, createdSeconds: 1_000 });
    await deliver({ receivedAgoMs: 5 * HOUR_MS, createdSeconds: 1_001 });
    await deliver({ receivedAgoMs: 50 * HOUR_MS, createdSeconds: 1_002 });
    expect(await look('/')).toContain('2 in all: 1 applied, 0 unchanged, 1 stale');
    expect(await look('/?range=hour')).toContain('2 in all: 1 applied, 0 unchanged, 1 stale');
    expect(await look('/?range=day')).toContain('3 in all: 1 applied, 0 unchanged, 2 stale');
    expect(await look('/?range=week')).toContain('4 in all: 1 applied, 0 unchanged, 3 stale');
  });

  test('an event is there at once, whatever the keeper has summed', async () => {
    const { database, clock } = service;
    await deliver({});
    for (let turn = 0; turn < 2; turn += 1) {
      await sumStatistics({ database, now: () => clock.nowMs }, new AbortController().signal);
    }
    expect(await look()).toContain('1 in all: 1 applied');
    await deliver({ delaySeconds: 1 });
    expect(await look()).toContain('2 in all: 2 applied');
  });

  test('the figures stand in tables, too, with how late events came', async () => {
    await deliver({ delaySeconds: 3 });
    const page = await look();
    expect(page).toMatch(/Delivery delay[\s\S]*<tr><th scope="row"><time[^>]*>[^<]+<\/time><\/th>/);
    expect(page).toContain('<td>4 s at most</td><td>4 s at most</td>');
    expect(page).toMatch(/role="img" aria-labelledby="events-drawn events-described"/);
  });

  test('it says when the log is not summed yet', async () => {
    await deliver({});
    await run(
      'insert into instep.statistics_progress (after_position, up_to_position) values (7, 9)',
    );
    expect(await look()).toContain('still being summed');
  });
});

test('it renews itself with the chosen range, unless that is not wanted', async () => {
  const live = await look('/?range=week');
  expect(live).toContain('hx-get="/?range=week" hx-trigger="every 5s" hx-select="#overview"');
  expect(live).toContain('href="/?range=week&amp;live=off"');
  const still = await look('/?range=week&live=off');
  expect(still).not.toContain('hx-get');
  expect(still).toContain('href="/?range=day&amp;live=off"');
  expect(await look('/?range=%3Cscript%3E')).toContain('hx-get="/?range=hour"');
});

test('teams by status, and how old the count is', async () => {
  expect(await look()).toContain('Not counted yet');
  await run(
    `insert into teams (name, subscription_status)
     select 'x', (array['active', 'canceled', '<script>alert(1)</script>'])[1 + number % 3]
       from generate_series(1, 4500) as number`,
  );
  await countTeamsInTurn(service.database.query);
  service.clock.nowMs = Date.now() + 30_000;
  const page = await look();
  expect(page.match(/1,500/g)).toHaveLength(3);
  expect(page).toContain('no subscription');
  expect(page).toContain('another status');
  expect(page).not.toContain('alert(1)');
  expect(page).toMatch(/Counted 3[01] s ago/);
});

describe('what does not repair by itself is said, with what to do', () => {
  beforeEach(() => deliver({}));

  async function expectConcern(says: string | RegExp, whatToDo: string): Promise<void> {
    const page = await look();
    expect(page).not.toContain(GREEN);
    expect(page).toContain('One thing does not repair by itself');
    expect(page).toMatch(says);
    expect(page).toContain(whatToDo);
  }

  test('parked events, once they have been for long', async () => {
    await deliver({ customerId: 'cus_unknown' });
    expect(await look()).toContain(GREEN);
    service.clock.nowMs += 11 * MINUTE_MS;
    await expectConcern('Parked events: 1. No team follows', 'href="/events?outcome=parked"');
  });

  test('unreadable events', async () => {
    const body = JSON.stringify({ ...JSON.parse(eventBody()), data: null });
    await ingest([received(body, service.clock.nowMs)]);
    await expectConcern(/newest thousand events 1 ha/, 'Upgrade Instep');
  });

  test('ties that Stripe does not decide', async () => {
    await run(
      `update instep.subscriptions
          set is_order_ambiguous = true,
              created_at = now() - interval '20 minutes'`,
    );
    await expectConcern('Of 1 subscription nothing tells', 'instep doctor');
  });

  test('products whose name Stripe does not tell; others are asked for', async () => {
    await run(
      `insert into instep.products (product_id) values ('prod_new') on conflict do nothing`,
    );
    expect(await look()).toContain(GREEN);
    await run('update instep.products set looked_up_at = now()');
    await expectConcern(/Stripe tells no name of \d+ product/, 'API key');
  });

  test('events that Stripe lists and does not deliver', async () => {
    await deliver({});
    await run(
      `update instep.events
          set deliveries = 0
        where position = (select max(position) from instep.events)`,
    );
    expect(await look()).toContain(GREEN);
    service.clock.nowMs += 3 * HOUR_MS;
    await expectConcern('Stripe delivers none', 'instep doctor');
    // Looks of our own, at Stripe, tell nothing of how events come.
    await run(
      `update instep.events set type = 'instep.subscription_snapshot' where deliveries = 0`,
    );
    expect(await look()).toContain(GREEN);
  });

  test('a catch-up that does not end', async () => {
    await run(`update instep.leased_jobs set started_at = now() where name = 'catch-up'`);
    expect(await look()).toContain(GREEN);
    service.clock.nowMs += 2 * HOUR_MS;
    await expectConcern('Catching up has not come to its end for 2 h', 'instep doctor');
  });

  test.each([
    [{ drifts: 3, repaired: 1 }, '2 teams not as Stripe says'],
    [{ customersWithoutTeam: 1 }, '1 customer without a team'],
    [{ unknownCustomers: 1 }, '1 team of a customer whom Stripe does not know'],
  ])('what the last reconciliation has left: %o', async (counts, says) => {
    const nothing = { drifts: 0, repaired: 0, customersWithoutTeam: 0, unknownCustomers: 0 };
    const read = { subscriptions: 10, unreadable: 0, teams: 10 };
    const progress = (found: object) => ({
      ...{ phase: 'done', beganAtMs: Date.now(), isDryRun: true, cursor: null, afterTeamId: 0 },
      counts: { ...read, ...nothing, ...found },
    });
    const note = `update instep.leased_jobs set progress = $1 where name = 'reconcile'`;
    await run(note, [JSON.stringify(progress({ drifts: 2, repaired: 2 }))]);
    expect(await look()).toContain(GREEN);
    await run(note, [JSON.stringify(progress(counts))]);
    await expectConcern(says, 'href="/reconcile"');
  });

  test('several things are counted', async () => {
    await deliver({ customerId: 'cus_unknown' });
    await run(`update instep.leased_jobs set started_at = now() where name = 'catch-up'`);
    service.clock.nowMs += 2 * HOUR_MS;
    expect(await look()).toContain('2 things do not repair by themselves');
  });
});
