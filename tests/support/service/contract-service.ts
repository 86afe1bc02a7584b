import type { ApplicationId } from 'instep';
import type { Plan, PlanInRow } from 'instep-engine/rule';
import { afterAll, beforeAll } from 'vitest';
import type { Database } from '../internals/database.ts';
import { addTeam, addUser, readTeam } from '../internals/rows.ts';
import { createDatabase } from '../postgres/test-database.ts';
import { type InstepProcess, startInstep } from '../process/instep-process.ts';
import { HEADERS, PROFILE } from '../secrets/test-secrets.ts';
import { sessionCookie } from './session-cookie.ts';

let count = 0;

/** The real server with its own database, for the tests of a file. `reach` can put a proxy between them. */
export function useService(
  environment: Readonly<Record<string, string>> = {},
  reach: (databaseUrl: URL) => Promise<URL> = async (url) => url,
) {
  let instep: InstepProcess;
  let database: Database;
  let databaseUrl: string;

  beforeAll(async () => {
    const created = await createDatabase();
    database = created.database;
    databaseUrl = (await reach(created.url)).href;
    instep = await startInstep({ DATABASE_URL: databaseUrl, ...environment });
  });
  afterAll(() => instep?.stop());

  const service = {
    get url() {
      return instep.url;
    },
    get database() {
      return database;
    },
    /** The database as the server reaches it. */
    get databaseUrl() {
      return databaseUrl;
    },
    get process() {
      return instep;
    },

    getUser: (cookie?: string) =>
      fetch(`${instep.url}/api/user`, { headers: { ...HEADERS, ...(cookie && { cookie }) } }),

    postRaw: (body: string | Uint8Array, headers: Record<string, string>) =>
      fetch(`${instep.url}/api/stripe/webhook`, {
        method: 'POST',
        body,
        headers: { ...HEADERS, ...headers },
      }),

    /** Posts a body, signed as Stripe signs it. */
    postSigned: (body: string, init?: RequestInit) => instep.post(body, init),

    async addUser() {
      count += 1;
      const email = `${count}${PROFILE.email}`;
      return await addUser(database.query, { ...PROFILE, email, role: 'member' });
    },

    /** A session cookie, by default signed with the tests' secret. */
    cookieOf: sessionCookie,

    /** A team that follows a new customer. */
    async addTeam() {
      count += 1;
      const customerId = `cus_team${count}`;
      const teamId = await addTeam(database.query, { name: 'Team', customerId });
      return { teamId, customerId };
    },

    async planOf(teamId: ApplicationId): Promise<PlanInRow | undefined> {
      return (await readTeam(database.query, teamId))?.plan;
    },
  };
  return service;
}

/** The plan of a team without a subscription. */
export const NO_PLAN: Plan = {
  providerSubscriptionId: null,
  providerProductId: null,
  planName: null,
  subscriptionStatus: null,
};
