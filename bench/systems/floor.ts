import { fileURLToPath } from 'node:url';
import { addUsersAndTeams, expectTeam, readTeams, signIn, TABLES } from './application-tables.ts';
import { AUTH_SECRET, WEBHOOK_SECRET } from './settings.ts';
import type { System } from './system.ts';

const SERVER = fileURLToPath(new URL('../floor/server.js', import.meta.url));

/** Bodies are stored uncompressed, because PostgreSQL's compression would double the cost. */
const LOG = `
  create table log (
    position bigint generated always as identity primary key,
    body     bytea not null
  ) with (toast_tuple_target = 8160);
  alter table log alter column body set storage external;`;

export const floor: System = {
  name: 'floor',
  title: 'the floor',
  isPeer: false,
  keepsOrder: false,
  webhookPath: '/api/stripe/webhook',
  profiles: { path: '/api/user', signIn },
  async prepare(_databaseUrl, ask, size) {
    await ask(TABLES);
    await ask(LOG);
    await addUsersAndTeams(ask, size);
  },
  server: (databaseUrl) => ({
    arguments: [SERVER],
    environment: {
      DATABASE_URL: databaseUrl,
      AUTH_SECRET,
      STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    },
    readyPath: '/',
  }),
  async countLogged(ask) {
    const [row] = await ask<{ count: string }>('select count(*) from log');
    return Number(row?.count);
  },
  readSubscriptions: readTeams,
  expect: expectTeam,
};
