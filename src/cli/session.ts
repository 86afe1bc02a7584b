import { Command } from 'commander';
import { readAuthSecrets } from '../config/config.ts';
import { SESSION_COOKIE } from '../sessions/cookie.ts';
import { issueSession, secretKeys } from '../sessions/token.ts';
import { positiveInteger } from './arguments.ts';
import { printData } from './output.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;

export function sessionCommand(): Command {
  const session = new Command('session')
    .description('issue session cookies, to try things out')
    .addHelpText('after', '\nExample:\n  instep session issue --user 1');

  session
    .command('issue')
    .description('print a session cookie, signed with AUTH_SECRET')
    .requiredOption('--user <id>', 'the id of the user', positiveInteger)
    .option('--days <days>', 'how long it lasts', positiveInteger, 1)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExample:\n  curl -b "$(instep session issue --user 1)" http://127.0.0.1:3000/api/user',
    )
    .action(async (options: { user: number; days: number; json?: boolean }) => {
      const [key] = secretKeys(readAuthSecrets(process.env));
      if (key === undefined) throw new RangeError('the configuration has no secret');
      const lifetimeMs = options.days * DAY_MS;
      const nowMs = Date.now();
      const token = await issueSession(options.user, key, { nowMs, lifetimeMs });
      const cookie = `${SESSION_COOKIE}=${token}`;
      if (options.json) {
        printData({ cookie, expires: new Date(nowMs + lifetimeMs).toISOString() }, options);
      } else process.stdout.write(`${cookie}\n`);
    });

  return session;
}
