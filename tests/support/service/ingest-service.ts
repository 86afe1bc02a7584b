import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import type { Database } from '../../../src/postgres/database.ts';
import { addTeam, readTeam } from '../../../src/queries/teams.ts';
import { connect, createDatabase, type TestServer } from '../postgres/test-database.ts';

export type LogRow = {
  event_id: string | null;
  outcome: string;
  deliveries: number;
};

/** A database with Instep's tables on this server, as long as the tests of a suite run. */
export function useDatabase(server: TestServer) {
  let url: URL;
  let database: Database;
  const others: Database[] = [];

  beforeAll(async () => {
    ({ url, database } = await createDatabase(server));
  });
  afterAll(async () => {
    for (const one of [database, ...others]) await one?.close();
  });

  return {
    get database() {
      return database;
    },

    /** Another pool on the same database, as another instance would have it. */
    openAnother(): Database {
      const other = connect(url);
      others.push(other);
      return other;
    },

    /** A customer whom nobody follows yet. */
    newCustomer: () => `cus_${randomBytes(8).toString('hex')}`,

    /** A team that follows a new customer. */
    async addTeam() {
      const customerId = `cus_${randomBytes(8).toString('hex')}`;
      const teamId = await addTeam(database.query, { name: 'Team', customerId });
      return { teamId, customerId };
    },

    planOf: async (teamId: number) => (await readTeam(database.query, teamId))?.plan,

    /** What the log says of a customer's events, in the order of their arrival. */
    logOf: (customerId: string) =>
      database.query<LogRow>(
        `select event_id, outcome, deliveries
           from instep.events
          where customer_id = $1
          order by position`,
        [customerId],
      ),
  };
}
