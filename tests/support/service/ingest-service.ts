import { randomBytes } from 'node:crypto';
import type { ApplicationId } from 'instep';
import { afterAll, beforeAll } from 'vitest';
import type { Database } from '../internals/database.ts';
import { addTeam, readTeam } from '../internals/rows.ts';
import { connect, createDatabase, type TestServer } from '../postgres/test-database.ts';

type LogRow = {
  event_id: string | null;
  outcome: string;
  deliveries: number;
};

/** A database with Instep's tables on this server, for the tests of a suite. */
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
    get url() {
      return url;
    },
    get database() {
      return database;
    },

    /** Another pool on the same database, like another instance. */
    openAnother(): Database {
      const other = connect(url);
      others.push(other);
      return other;
    },

    /** A customer without a team. */
    newCustomer: () => `cus_${randomBytes(8).toString('hex')}`,

    /** A team that follows a new customer. */
    async addTeam() {
      const customerId = `cus_${randomBytes(8).toString('hex')}`;
      const teamId = await addTeam(database.query, { name: 'Team', customerId });
      return { teamId, customerId };
    },

    planOf: async (teamId: ApplicationId) => (await readTeam(database.query, teamId))?.plan,

    /** A customer's events in the log, in the order of arrival. */
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
