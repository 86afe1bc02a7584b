import { Command } from 'commander';
import { printData } from './output.ts';
import { migrateDatabase } from './with-database.ts';

export function migrateCommand(): Command {
  return new Command('migrate')
    .description('bring the database up to date (the server does it at its start as well)')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://… instep migrate')
    .action(async (options: { json?: boolean }) => {
      const applied = await migrateDatabase();
      printData({ applied: applied.join(', ') || 'nothing, it is up to date' }, options);
    });
}
