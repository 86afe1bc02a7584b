import { SNAPSHOT_TYPE } from 'instep/operate';
import { expect, test } from 'vitest';
import { jsonLines, useLog } from '../support/service/log-service.ts';

const log = useLog();

test('an event by its id or position: a decided one is a duplicate, and a snapshot is left out', async () => {
  const teamId = await log.addTeam('cus_d');
  await log.deliver({ customerId: 'cus_d', eventId: 'evt_d1', createdSeconds: 100 });
  await log.deliver({ customerId: 'cus_d', eventId: 'evt_look', createdSeconds: 200 });
  await log.database.query(`update instep.events set type = $1 where event_id = 'evt_look'`, [
    SNAPSHOT_TYPE,
  ]);
  const position = await log.positionOf('evt_d1');
  for (const id of ['evt_d1', String(position)]) {
    expect(await log.events(['replay', id])).toEqual({
      code: 0,
      stdout: `${String(position).padStart(8)}  evt_d1  applied → duplicate  team ${teamId}\n`,
      stderr: expect.stringMatching(/^1 duplicate\n/),
    });
  }
  const look = await log.events(['replay', 'evt_look']);
  expect(look).toMatchObject({ code: 0, stdout: expect.stringContaining('→ left out') });
});

test('parked events are applied, in order, once a team has their customer, although one is refused', async () => {
  const customerId = 'cus_p';
  await log.deliver({ customerId, eventId: 'evt_p2', createdSeconds: 200, productId: 'prod_p' });
  await log.deliver({ customerId, eventId: 'evt_p1', createdSeconds: 100, status: 'canceled' });
  await log.deliver({ customerId: 'cus_refused', eventId: 'evt_refused', status: 'unpaid' });
  const replay = () => log.events(['replay', '--outcome', 'parked', '--json']);
  const parked = { outcome: 'parked' };
  expect(jsonLines((await replay()).stdout)).toMatchObject([parked, parked, parked]);
  const teamId = await log.addTeam(customerId);
  await log.addTeam('cus_refused');
  await log.database.query(
    `alter table teams add constraint never_unpaid check (subscription_status <> 'unpaid')`,
  );
  const { code, stdout, stderr } = await replay();
  const common = { position: expect.any(Number), was: 'parked', error: null };
  expect(jsonLines(stdout)).toEqual([
    { ...common, eventId: 'evt_p2', outcome: 'applied', teamIds: [teamId] },
    { ...common, eventId: 'evt_p1', outcome: 'stale', teamIds: [teamId] },
    expect.objectContaining({
      ...{ eventId: 'evt_refused', error: expect.stringContaining('never_unpaid') },
    }),
  ]);
  expect(code).toBe(1);
  expect(stderr).toContain('[REPLAY_FAILED]');
});
