import { fileURLToPath } from 'node:url';
import { addUsersAndTeams, expectTeam, readTeams, signIn, TABLES } from './application-tables.ts';
import { API_KEY, AUTH_SECRET, WEBHOOK_SECRET } from './settings.ts';
import type { System } from './system.ts';

const SERVER = fileURLToPath(new URL('../plain/server.js', import.meta.url));

/** The two routes as an app without Instep has them. */
export const plain: System = {
  name: 'plain',
  title: 'a plain handler',
  isPeer: true,
  keepsOrder: false,
  webhookPath: '/api/stripe/webhook',
  profiles: { path: '/api/user', signIn },
  async prepare(_databaseUrl, ask, size) {
    await ask(TABLES);
    await addUsersAndTeams(ask, size);
  },
  server: (databaseUrl) => ({
    arguments: [SERVER],
    environment: {
      NODE_ENV: 'production',
      DATABASE_URL: databaseUrl,
      AUTH_SECRET,
      STRIPE_SECRET_KEY: API_KEY,
      STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    },
    readyPath: '/',
  }),
  countLogged: null,
  readSubscriptions: readTeams,
  expect: expectTeam,
};
