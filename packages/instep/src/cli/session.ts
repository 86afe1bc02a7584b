import type { Command } from 'commander';
import { readAuthSecrets } from '../config/config.ts';
import type { ApplicationId } from '../core/application-id.ts';
import { issueSession, SESSION_COOKIE } from '../sessions/token.ts';
import { applicationId, positiveInteger } from './arguments.ts';
import { createCommand } from './create-command.ts';
import { printData } from './output.ts';

type IssueOptions = { user: ApplicationId; days: number; json?: boolean };

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
  const [secret] = readAuthSecrets(process.env);
  const lifetimeMs = days * DAY_MS;
  const nowMs = Date.now();
  const token = await issueSession(user, secret, { nowMs, lifetimeMs });
  const cookie = `${SESSION_COOKIE}=${token}`;
  const expires = new Date(nowMs + lifetimeMs).toISOString();
  if (json) printData({ cookie, expires }, { json });
  else process.stdout.write(`${cookie}\n`);
}
