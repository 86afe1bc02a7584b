import type { Command } from 'commander';
import type { ApplicationId } from '../core/application-id.ts';
import type { User } from '../core/user.ts';
import { addUser, readUser } from '../postgres/statements/users.ts';
import { applicationId } from './arguments.ts';
import { createCommand } from './create-command.ts';
import { NotFound } from './not-found.ts';
import { type Data, printData } from './output.ts';
import { withDatabase } from './with-database.ts';

type AddOptions = {
  email: string;
  name?: string;
  role: string;
  passwordHash: string;
  json?: boolean;
};

export function userCommand(): Command {
  return createCommand('user', 'add and show users', 'instep user add --email ada@example.com')
    .addCommand(
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
    )
    .addCommand(
      createCommand('show', 'show a user', 'instep user show 1')
        .argument('<id>', 'user id', applicationId)
        .option('--json', 'print JSON')
        .action(show),
    );
}

async function add({ email, name, role, passwordHash, json = false }: AddOptions) {
  const user = { email, name: name ?? null, role, passwordHash };
  const added = await withDatabase(({ query }) => addUser(query, user));
  printData(describe(added), { json });
}

async function show(id: ApplicationId, options: { json?: boolean }): Promise<void> {
  const found = await withDatabase(({ query }) => readUser(query, id));
  if (found === null) throw new NotFound(`there is no user ${id}`);
  printData(describe(found), options);
}

/** Everything but the password hash, which belongs on no screen. */
function describe({ passwordHash: _, ...user }: User): Data {
  return user;
}
