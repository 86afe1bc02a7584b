import { expect, test } from 'vitest';
import { migrate } from '../support/internals/database.ts';
import { addTeam } from '../support/internals/rows.ts';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

test('an event whose table or column a migration has renamed waits until Instep is restarted', async () => {
  const url = await createEmptyDatabase();
  const database = connect(url);
  await migrate(database);
  const id = await addTeam(database.query, { name: 'Acme', customerId: 'cus_1' });
  const applied = [{ outcome: 'applied', teamIds: [id] }];
  let ingest = openPipeline(database);
  const granted = { customerId: 'cus_1', createdSeconds: 10 };
  expect(await ingest([receivedEvent(granted)])).toMatchObject(applied);
  for (const [createdSeconds, rename] of [
    [20, 'alter table teams rename provider_customer_id to stripe_customer_id'],
    [30, 'alter table teams rename to "Team"'],
  ] as const) {
    await database.query(rename);
    const event = receivedEvent({ ...granted, createdSeconds, priceId: `price_${createdSeconds}` });
    const refused = ingest([event]);
    await expect(refused).rejects.toMatchObject({ code: 'DATABASE_UNUSABLE' });
    await expect(refused).rejects.toThrow('restart Instep');
    ingest = openPipeline(connect(url));
    expect(await ingest([event])).toMatchObject(applied);
  }
});
