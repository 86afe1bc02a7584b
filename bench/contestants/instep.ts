import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { addUsersAndTeams, expectTeam, readTeams, signIn } from './application-tables.ts';
import type { Contestant } from './contestant.ts';
import { API_KEY, AUTH_SECRET, WEBHOOK_SECRET } from './settings.ts';

/** The compiled command, from the compiled benchmark. */
export const PROGRAM = fileURLToPath(new URL('../../../../dist/cli/instep.js', import.meta.url));

/** As it comes, unless our own environment says otherwise of these. */
const MAY_DIFFER = ['INSTEP_WORKERS', 'LOG_LEVEL', 'NODE_OPTIONS'];

export function instepEnvironment(stripeApiBase: string): Record<string, string> {
  const told = MAY_DIFFER.map((name) => [name, process.env[name]] as const);
  return {
    STRIPE_SECRET_KEY: API_KEY,
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    AUTH_SECRET,
    STRIPE_API_BASE: stripeApiBase,
    ...Object.fromEntries(told.filter(([, value]) => value !== undefined)),
  };
}

/** The real command, as its README says. */
export function createInstep(stripeApiBase: string): Contestant {
  return {
    name: 'instep',
    title: 'Instep',
    isPeer: false,
    webhookPath: '/api/stripe/webhook',
    profiles: { path: '/api/user', signIn },
    async prepare(databaseUrl, ask, size) {
      const env = { PATH: process.env.PATH, DATABASE_URL: databaseUrl };
      await promisify(execFile)(process.execPath, [PROGRAM, 'migrate'], { cwd: tmpdir(), env });
      await addUsersAndTeams(ask, size);
    },
    server: (databaseUrl) => ({
      arguments: [PROGRAM, 'serve'],
      environment: { ...instepEnvironment(stripeApiBase), DATABASE_URL: databaseUrl },
      readyPath: '/readyz',
    }),
    async countLogged(ask) {
      const [row] = await ask<{ count: string }>('select count(*) from instep.events');
      return Number(row?.count);
    },
    readCustomers: readTeams,
    expect: expectTeam,
  };
}
