import type { ApplicationId } from 'instep';
import { afterEach, expect, test } from 'vitest';
import { readTeam } from '../support/internals/rows.ts';
import { startInstep } from '../support/process/instep-process.ts';
import { useLog } from '../support/service/log-service.ts';

const log = useLog();
const DAY_MS = 24 * 60 * 60 * 1_000;
const daysAgo = (days: number) => Date.now() - days * DAY_MS;

afterEach(async () => {
  await log.database.query('truncate instep.events, instep.customers');
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
