import { beforeAll, describe, expect, test } from 'vitest';
import { type Database, migrate } from '../support/internals/database.ts';
import { addTeam, readTeam } from '../support/internals/rows.ts';
import {
  connect,
  createEmptyDatabase,
  postgresServers,
} from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

describe.each(postgresServers)('$name', (server) => {
  let database: Database;
  beforeAll(async () => {
    database = connect(await createEmptyDatabase(server));
    await migrate(database);
  });

  test('columns and tables that a migration of the app renames are recognized under their new names', async () => {
    const ingest = openPipeline(database);
    const id = await addTeam(database.query, { name: 'Acme', customerId: 'cus_1' });
    await ingest([receivedEvent({ customerId: 'cus_1', createdSeconds: 10 })]);
    await database.query(`
      alter table teams rename provider_customer_id to stripe_customer_id;
      alter table teams rename subscription_status to "subscriptionStatus";
      alter table teams rename to "Team";`);
    const ended = { customerId: 'cus_1', createdSeconds: 20, status: 'canceled' };
    expect(await ingest([receivedEvent(ended)])).toEqual([{ outcome: 'applied', teamIds: [id] }]);
    expect((await readTeam(database.query, id))?.plan.subscriptionStatus).toBe('canceled');
  });

  test('an event waits for a column of its plan that is gone, until it is there again', async () => {
    const ingest = openPipeline(database);
    const event = receivedEvent({ customerId: 'cus_1', createdSeconds: 30 });
    await database.query('alter table "Team" rename "subscriptionStatus" to state');
    await expect(ingest([event])).rejects.toMatchObject({ code: 'APPLICATION_TABLES_UNFIT' });
    await database.query('alter table "Team" rename state to "subscriptionStatus"');
    expect(await ingest([event])).toMatchObject([{ outcome: 'applied' }]);
  });

  test('a table that is gone is reported by name after it was looked up again', async () => {
    await database.query('alter table "Team" rename to companies');
    await expect(readTeam(database.query, 1)).rejects.toMatchObject({
      code: 'APPLICATION_TABLES_UNFIT',
      problems: ['the table teams is missing'],
    });
    await database.query('alter table companies rename to teams');
    expect((await readTeam(database.query, 1))?.customerId).toBe('cus_1');
  });
});
