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

test('removes personal data of one customer, however many events there are, and changes no team', async () => {
  const teamId = await log.addTeam('cus_redacted');
  const personal = { previousAttributes: { description: 'for Ada Lovelace' } };
  for (let second = 1; second <= 201; second += 1) {
    const event = { eventId: `evt_${second}`, createdSeconds: second, ...personal };
    await log.deliver({ customerId: 'cus_redacted', ...event });
  }
  await log.deliver({ customerId: 'cus_other', ...personal });
  const before = await readTeam(log.database.query, teamId);
  const other = await bodiesOf('cus_other');

  const redact = () => log.events(['redact', '--customer', 'cus_redacted', '--json']);
  expect(jsonLines((await redact()).stdout)).toEqual([{ customer: 'cus_redacted', redacted: 201 }]);
  const bodies = await bodiesOf('cus_redacted');
  expect(bodies.join()).not.toContain('Lovelace');
  expect(bodies[0]).toMatch(/"description":"redacted_[0-9a-f]{16}"/);
  expect(await bodiesOf('cus_other')).toEqual(other);
  expect((await redact()).code).toBe(0);
  expect(await bodiesOf('cus_redacted')).toEqual(bodies);

  // The same event, when it arrives late.
  await log.deliver({
    ...{ customerId: 'cus_redacted', eventId: 'evt_1', createdSeconds: 1, ...personal },
  });
  expect(await bodiesOf('cus_redacted')).toHaveLength(201);
  expect(await readTeam(log.database.query, teamId)).toEqual(before);
  const rebuilt = await runInstep(['rebuild', '--dry-run'], { DATABASE_URL: log.databaseUrl });
  expect(rebuilt).toEqual({ code: 0, stdout: '', stderr: 'found 0, failed 0\n' });
});
