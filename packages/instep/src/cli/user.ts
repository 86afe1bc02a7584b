// The commands about users and their sessions.

import type { Command } from 'commander';
import { issueSession, SESSION_COOKIE } from 'instep-engine/http';
import { type ApplicationId, addUser, ProfileOff } from 'instep-engine/postgres';
import { readPart } from '../config/config.ts';
import { applicationId, createCommand, positiveInteger } from './arguments.ts';
import { type Json, print, printData } from './output.ts';
import { withContext } from './with-context.ts';

type AddOptions = { email: string; name?: string; role: string; passwordHash: string } & Json;

export function userCommand(): Command {
  return createCommand('user', 'add users', 'instep user add --email ada@example.com').addCommand(
    createCommand(
      'add',
      'add a user (usually your app does this)',
      'instep user add --email ada@example.com --name Ada',
    )
      .requiredOption('--email <email>', 'unique e-mail address')
      .option('--name <name>', 'display name')
      .option('--role <role>', 'role', 'member')
      .option('--password-hash <hash>', 'hashed password; the default matches no password', '!')
      .option('--json', 'print JSON')
      .action(add),
  );
}

async function add({ email, name, role, passwordHash, ...output }: AddOptions) {
  const user = { email, name: name ?? null, role, passwordHash };
  const added = await withContext(({ database }) => addUser(database.query, user), null, {
    createsDatabase: true,
  });
  // It belongs on no screen.
  const { passwordHash: _, ...shown } = added;
  printData(shown, output);
}

type IssueOptions = { user: ApplicationId; days: number } & Json;

const DAY_MS = 24 * 60 * 60 * 1_000;

export function sessionCommand(): Command {
  return createCommand(
    'session',
    'issue session cookies for testing',
    'instep session issue --user 1',
  ).addCommand(
    createCommand(
      'issue',
      'print a session cookie that is signed with AUTH_SECRET',
      'curl -b "$(instep session issue --user 1)" http://127.0.0.1:3000/api/user',
    )
      .requiredOption('--user <id>', 'user id', applicationId)
      .option('--days <days>', 'days until the session expires', positiveInteger, 1)
      .option('--json', 'print JSON')
      .action(issue),
  );
}

async function issue({ user, days, json }: IssueOptions): Promise<void> {
  const secrets = readPart('authSecrets', process.env);
  if (secrets === null) throw new ProfileOff('No endpoint reads a session');
  const lifetimeMs = days * DAY_MS;
  const nowMs = Date.now();
  const token = await issueSession(user, secrets[0], { nowMs, lifetimeMs });
  const cookie = `${SESSION_COOKIE}=${token}`;
  const expires = new Date(nowMs + lifetimeMs).toISOString();
  if (json) printData({ cookie, expires }, { json });
  else print(cookie);
}
