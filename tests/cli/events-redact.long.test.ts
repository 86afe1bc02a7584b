import { expect, test } from 'vitest';
import { readTeam } from '../support/internals/rows.ts';
import { runInstep } from '../support/process/instep-process.ts';
import { jsonLines, useLog } from '../support/service/log-service.ts';

const log = useLog();

const bodiesOf = async (customerId: string): Promise<string[]> => {
  const rows = await log.database.query<{ body: Uint8Array }>(
    'select body from instep.events where customer_id = $1 order by position',
    [customerId],
  );
  return rows.map(({ body }) => new TextDecoder().decode(body));
};

test('removes personal data of one customer, and changes no team', async () => {
  const teamId = await log.addTeam('cus_redacted');
  await log.addTeam('cus_other');
  const personal = { previousAttributes: { description: 'for Ada Lovelace' } };
  for (const customerId of ['cus_redacted', 'cus_other']) {
    await log.deliver({ customerId, eventId: 'evt_1', createdSeconds: 100, ...personal });
    await log.deliver({ customerId, eventId: 'evt_2', createdSeconds: 200, status: 'canceled' });
  }
  const before = await readTeam(log.database.query, teamId);
  const other = await bodiesOf('cus_other');

  const { code, stdout, stderr } = await log.events(['redact', '--customer', 'cus_redacted']);
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: 'customer  cus_redacted\nredacted  2\n',
    stderr: '',
  });
  const bodies = await bodiesOf('cus_redacted');
  expect(bodies.join()).not.toContain('Lovelace');
  expect(bodies[0]).toMatch(/"description":"redacted_[0-9a-f]{16}"/);
  expect(await bodiesOf('cus_other')).toEqual(other);

  expect(await readTeam(log.database.query, teamId)).toEqual(before);
  const rebuilt = await runInstep(['rebuild', '--dry-run'], { DATABASE_URL: log.databaseUrl });
  expect(rebuilt).toEqual({ code: 0, stdout: '', stderr: 'found 0, kept 0, failed 0\n' });
});

test('a late duplicate of a redacted event is still a duplicate', async () => {
  const customerId = 'cus_late';
  await log.addTeam(customerId);
  const event = {
    customerId,
    eventId: 'evt_late',
    createdSeconds: 100,
    previousAttributes: { description: 'Ada' },
  };
  await log.deliver(event);
  await log.events(['redact', '--customer', customerId]);
  await log.deliver(event);
  const statement = 'select outcome, deliveries from instep.events where customer_id = $1';
  expect(await log.database.query(statement, [customerId])).toEqual([
    { outcome: 'applied', deliveries: 2 },
  ]);
});

test('redacts more events than one page, and changes nothing the second time', async () => {
  const customerId = 'cus_many';
  for (let second = 1; second <= 201; second += 1) {
    const previousAttributes = { description: `Ada ${second}` };
    const eventId = `evt_many_${second}`;
    await log.deliver({ customerId, eventId, createdSeconds: second, previousAttributes });
  }
  const redact = () => log.events(['redact', '--customer', customerId, '--json']);
  expect(jsonLines((await redact()).stdout)).toEqual([{ customer: customerId, redacted: 201 }]);
  const bodies = await bodiesOf(customerId);
  expect(bodies.join()).not.toContain('Ada');
  expect((await redact()).code).toBe(0);
  expect(await bodiesOf(customerId)).toEqual(bodies);
});
