import type { ApplicationId } from 'instep';
import { SNAPSHOT_TYPE } from 'instep/operate';
import { expect, test } from 'vitest';
import { readTeam } from '../support/internals/rows.ts';
import { jsonLines, useLog } from '../support/service/log-service.ts';

const LINK = 'update teams set provider_customer_id = $2 where id = $1';

const log = useLog();

const planOf = async (teamId: ApplicationId) => (await readTeam(log.database.query, teamId))?.plan;

const countOf = async (customerId: string) =>
  await log.database.query(
    `select event_id, outcome, deliveries
       from instep.events
      where customer_id = $1
      order by position`,
    [customerId],
  );

test('a decided event is a duplicate and changes nothing', async () => {
  const teamId = await log.addTeam('cus_d');
  await log.deliver({ customerId: 'cus_d', eventId: 'evt_d1', createdSeconds: 100 });
  const canceled = { eventId: 'evt_d2', createdSeconds: 200, status: 'canceled' };
  await log.deliver({ customerId: 'cus_d', ...canceled });
  const before = [await planOf(teamId), await countOf('cus_d')];
  const position = await log.positionOf('evt_d1');
  for (const id of ['evt_d1', String(position)]) {
    expect(await log.events(['replay', id])).toEqual({
      code: 0,
      stdout: `${String(position).padStart(8)}  evt_d1  applied → duplicate  team ${teamId}\n`,
      stderr:
        '1 duplicate\n' +
        'Duplicates had already been decided. To repair teams that have changed since, run instep rebuild.\n',
    });
  }
  expect([await planOf(teamId), await countOf('cus_d')]).toEqual(before);
});

test('parked events are applied, in order, once a team has their customer', async () => {
  const customerId = 'cus_p';
  await log.deliver({ customerId, eventId: 'evt_p2', createdSeconds: 200, productId: 'prod_p' });
  await log.deliver({ customerId, eventId: 'evt_p1', createdSeconds: 100, status: 'canceled' });
  const unlinked = await log.events(['replay', '--outcome', 'parked', '--json']);
  expect(jsonLines(unlinked.stdout)).toMatchObject([{ outcome: 'parked' }, { outcome: 'parked' }]);
  const teamId = await log.addTeam('cus_of_another');
  await log.database.query(LINK, [teamId, customerId]);
  const { code, stdout, stderr } = await log.events(['replay', '--outcome', 'parked', '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '1 applied, 1 stale\n' });
  const common = { position: expect.any(Number), was: 'parked', teamIds: [teamId], error: null };
  expect(jsonLines(stdout)).toEqual([
    { ...common, eventId: 'evt_p2', outcome: 'applied' },
    { ...common, eventId: 'evt_p1', outcome: 'stale' },
  ]);
  expect(await planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
  expect(await countOf(customerId)).toEqual([
    { event_id: 'evt_p2', outcome: 'applied', deliveries: 1 },
    { event_id: 'evt_p1', outcome: 'stale', deliveries: 1 },
  ]);
  expect(await log.events(['replay', '--outcome', 'parked'])).toEqual({
    code: 0,
    stdout: '',
    stderr: 'no events\n',
  });
});

test('leaves snapshots out', async () => {
  const customerId = 'cus_snapshot';
  await log.addTeam(customerId);
  await log.deliver({ customerId, eventId: 'evt_look' });
  await log.database.query(`update instep.events set type = $1 where event_id = 'evt_look'`, [
    SNAPSHOT_TYPE,
  ]);
  const { code, stdout } = await log.events(['replay', 'evt_look']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('→ left out') });
});

test('an event that the application refuses exits with 1 and stops no other event', async () => {
  for (const name of ['refused', 'taken']) {
    await log.deliver({ customerId: `cus_${name}`, eventId: `evt_${name}`, status: 'unpaid' });
    await log.addTeam(`cus_${name}`);
  }
  await log.database.query(
    `alter table teams add constraint never_unpaid
       check (subscription_status <> 'unpaid' or provider_customer_id <> 'cus_refused')`,
  );
  const { code, stdout, stderr } = await log.events(['replay', '--outcome', 'parked']);
  expect(code).toBe(1);
  expect(stdout).toMatch(/evt_refused {2}parked → failed {2}.*never_unpaid/);
  expect(stdout).toMatch(/evt_taken {2}parked → applied {2}team \d+/);
  expect(stderr).toMatch(
    /^1 failed, 1 applied\ninstep: the database refused 1 event: see above \[REPLAY_FAILED\]\n$/,
  );
});
