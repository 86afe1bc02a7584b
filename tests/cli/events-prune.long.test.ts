import type { ApplicationId } from 'instep/src/core/application.ts';
import { readTeam } from 'instep/src/postgres/statements/teams.ts';
import { afterEach, expect, test } from 'vitest';
import { runInstep, spawnInstep, startInstep } from '../support/process/instep-process.ts';
import { jsonLines, useLog } from '../support/service/log-service.ts';

const log = useLog();
const DAY_MS = 24 * 60 * 60 * 1_000;
const daysAgo = (days: number) => Date.now() - days * DAY_MS;

afterEach(async () => {
  await log.database.query('truncate instep.events, instep.subscriptions');
  await log.database.query('update instep.pruning set pruned_before = null');
});

/** A team with its newest event and older ones, received this many days ago. */
async function teamWithOldEvents(customerId: string, ...days: number[]): Promise<ApplicationId> {
  const teamId = await log.addTeam(customerId);
  for (const [index, ago] of [...days, 500].entries()) {
    const eventId = `evt_${customerId}_${ago}`;
    await log.deliver({ customerId, eventId, createdSeconds: 100 + index }, daysAgo(ago));
  }
  return teamId;
}

const left = async () =>
  (
    await log.database.query<{ event_id: string }>(
      'select event_id from instep.events order by position',
    )
  ).map(({ event_id }) => event_id);

test('deletes events older than 90 days, except those that teams need', async () => {
  const teamId = await teamWithOldEvents('cus_a', 200, 91, 89);
  const before = await readTeam(log.database.query, teamId);
  const { code, stdout, stderr } = await log.events(['prune']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^pruned +2\nreceivedBefore +\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ\n$/);
  expect(await left()).toEqual(['evt_cus_a_89', 'evt_cus_a_500']);
  expect(await readTeam(log.database.query, teamId)).toEqual(before);
  const rebuilt = await runInstep(['rebuild', '--dry-run'], { DATABASE_URL: log.databaseUrl });
  expect(rebuilt).toEqual({ code: 0, stdout: '', stderr: 'no differences\n' });
  const shown = await log.events(['show', 'evt_cus_a_89']);
  expect(shown.stdout).toMatch(/^Events received before .* may have been pruned/m);
});

test('uses EVENT_RETENTION, and --older-than takes precedence', async () => {
  await teamWithOldEvents('cus_b', 20, 10, 5);
  const EVENT_RETENTION = '15d';
  const pruned = async (...args: string[]) =>
    jsonLines((await log.events(['prune', '--json', ...args], { EVENT_RETENTION })).stdout);
  expect(await pruned()).toEqual([{ pruned: 1, receivedBefore: expect.any(String) }]);
  expect(await pruned('--older-than', '170h')).toMatchObject([{ pruned: 1 }]);
  expect(await left()).toEqual(['evt_cus_b_5', 'evt_cus_b_500']);
});

test.each(['off', '0'])('EVENT_RETENTION=%s exits with 2 unless an age is given', async (off) => {
  const { code, stdout, stderr } = await log.events(['prune'], { EVENT_RETENTION: off });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/EVENT_RETENTION is off. Set an age: --older-than 90d/);
  const asked = await log.events(['prune', '--older-than', '1d'], { EVENT_RETENTION: off });
  expect(asked).toMatchObject({ code: 0, stderr: '' });
});

test('an invalid EVENT_RETENTION exits with 2 and shows a valid one', async () => {
  expect(await log.events(['prune'], { EVENT_RETENTION: '3 months' })).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/EVENT_RETENTION must be off, or a duration such as 90d or 12h/),
  });
});

test('Ctrl-C stops it, and keeps the rest', async () => {
  await log.database.query(
    `insert into instep.events (key, type, received_at, deliveries, outcome, body)
     select gen_random_uuid(), 'customer.subscription.updated', now() - interval '1 year', 1,
            'unreadable', ''
       from generate_series(1, 50000)`,
  );
  const pruning = spawnInstep(['events', 'prune'], { DATABASE_URL: log.databaseUrl });
  const count = async () => (await left()).length;
  while ((await count()) === 50_000);
  expect(await pruning.stop('SIGINT')).toBe(0);
  expect(pruning.stderr).toBe('stopped early: run the command again to prune the rest\n');
  const [, pruned = ''] = /^pruned +(\d+)$/m.exec(pruning.stdout) ?? [];
  expect(await count()).toBe(50_000 - Number(pruned));
  expect(await count()).toBeGreaterThan(0);
});

test('a running server prunes once an hour', async () => {
  const teamId = await teamWithOldEvents('cus_s', 200, 91, 5);
  const before = await readTeam(log.database.query, teamId);
  const server = await startInstep({ DATABASE_URL: log.databaseUrl });
  expect(await server.logged({ msg: 'event log pruned' })).toMatchObject({
    level: 'info',
    count: 2,
  });
  expect(await left()).toEqual(['evt_cus_s_5', 'evt_cus_s_500']);
  expect(await readTeam(log.database.query, teamId)).toEqual(before);
  expect(await server.stop()).toBe(0);
});

test('a running server keeps everything with EVENT_RETENTION=off', async () => {
  await teamWithOldEvents('cus_o', 200, 91);
  const server = await startInstep({ DATABASE_URL: log.databaseUrl, EVENT_RETENTION: 'off' });
  // Another maintenance job has run.
  await log.deliver({ customerId: 'cus_later', eventId: 'evt_later' });
  await log.addTeam('cus_later');
  await server.logged({ msg: 'event', outcome: 'applied' });
  expect(await left()).toHaveLength(4);
  expect(await server.stop()).toBe(0);
});
