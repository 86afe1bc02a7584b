import { expect, test } from 'vitest';
import { addTeam } from '../support/internals/rows.ts';
import { lockTeam, whileHeld } from '../support/postgres/locks.ts';
import { NO_PLAN, useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const service = useService({ REQUEST_DEADLINE_MS: '3000', LOG_LEVEL: 'debug' });

const untilBlocked = (eventId: string) =>
  service.process.logged({ msg: 'waiting to be tried again', eventId });

test('updates both teams of a customer although one of them was locked', async () => {
  const { teamId, customerId } = await service.addTeam();
  // An application's own table can allow that.
  await service.database.query('alter table teams drop constraint teams_provider_customer_id_key');
  const twinId = await addTeam(service.database.query, { name: 'Twin', customerId });
  let answer: Promise<Response> | undefined;
  await whileHeld(service.database, lockTeam(twinId), async () => {
    answer = service.postSigned(eventBody({ customerId, eventId: 'evt_twins' }));
    await untilBlocked('evt_twins');
    expect(await service.planOf(teamId)).toEqual(NO_PLAN);
  });
  expect((await answer)?.status).toBe(200);
  expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
  expect(await service.planOf(twinId)).toMatchObject({ subscriptionStatus: 'active' });
});

test('lets the app insert rows that refer to a team while its event is applied', async () => {
  const { teamId, customerId } = await service.addTeam();
  await service.database.query('create table members (team_id integer references teams (id))');
  await whileHeld(service.database, `insert into members values (${teamId})`, async () => {
    expect((await service.postSigned(eventBody({ customerId }))).status).toBe(200);
  });
});
