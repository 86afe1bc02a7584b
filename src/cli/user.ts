import { Command } from 'commander';
import { addUser, readUser, type User } from '../queries/users.ts';
import { positiveInteger } from './arguments.ts';
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
  const user = new Command('user')
    .description('add and show users')
    .addHelpText('after', '\nExample:\n  instep user add --email ada@example.com');

  user
    .command('add')
    .description('add a user (usually your app does)')
    .requiredOption('--email <email>', 'the e-mail address, unique')
    .option('--name <name>', 'the display name')
    .option('--role <role>', 'the role', 'member')
    .option('--password-hash <hash>', 'the hashed password; the default matches none', '!')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  instep user add --email ada@example.com --name Ada')
    .action(async ({ email, name, role, passwordHash, ...options }: AddOptions) => {
      const added = await withDatabase(({ query }) => {
        return addUser(query, { email, name: name ?? null, role, passwordHash });
      });
      printData(describe(added), options);
    });

  user
    .command('show')
    .description('show a user')
    .argument('<id>', 'the id of the user', positiveInteger)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  instep user show 1')
    .action(async (id: number, options: { json?: boolean }) => {
      const found = await withDatabase(({ query }) => readUser(query, id));
      if (found === null) throw new NotFound(`there is no user ${id}`);
      printData(describe(found), options);
    });

  return user;
}

/** All but the hash of the password, which belongs on no screen. */
function describe({ id, name, email, role, createdAt, updatedAt, deletedAt }: User): Data {
  return {
    id,
    name,
    email,
    role,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    deletedAt: deletedAt?.toISOString() ?? null,
  };
}
