import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { addUsersAndTeams, expectTeam, readTeams, signIn } from './application-tables.ts';
import { API_KEY, AUTH_SECRET, WEBHOOK_SECRET } from './settings.ts';
import type { System } from './system.ts';

/** The compiled command. */
const PROGRAM = fileURLToPath(
  new URL('../../../../packages/instep/dist/cli/instep.js', import.meta.url),
);

/** The command's settings apart from the database. */
function instepEnvironment(stripeApiBase: string): Record<string, string> {
  return {
    STRIPE_SECRET_KEY: API_KEY,
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    AUTH_SECRET,
    STRIPE_API_BASE: stripeApiBase,
    RECONCILE_INTERVAL: 'off',
    OPS_PORT: '0',
  };
}

/** The real command, or that of another build. */
export function createInstep(
  stripeApiBase: string,
  { name = 'instep', program = PROGRAM } = {},
): System {
  const environment = instepEnvironment(stripeApiBase);
  return {
    name,
    title: 'Instep',
    isPeer: false,
    keepsOrder: true,
    webhookPath: '/api/stripe/webhook',
    profiles: { path: '/api/user', signIn },
    async prepare(databaseUrl, ask, size) {
      const env = { PATH: process.env.PATH, DATABASE_URL: databaseUrl };
      const run = (...args: string[]) =>
        promisify(execFile)(process.execPath, [program, 'migrate', ...args], {
          cwd: tmpdir(),
          env,
        });
      // An earlier commit creates the tables without being asked.
      const { stdout: help } = await run('--help');
      await run(...(help.includes('--create-tables') ? ['--create-tables'] : []));
      await addUsersAndTeams(ask, size);
    },
    server: (databaseUrl) => ({
      arguments: [program, 'serve'],
      environment: {
        ...environment,
        DATABASE_URL: databaseUrl,
      },
      readyPath: '/readyz',
    }),
    async countLogged(ask) {
      const [row] = await ask<{ count: string }>('select count(*) from instep.events');
      return Number(row?.count);
    },
    readSubscriptions: readTeams,
    expect: expectTeam,
  };
}
