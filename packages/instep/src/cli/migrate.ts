import type { Command } from 'commander';
import { createCommand } from './create-command.ts';
import { printData } from './output.ts';
import { withServer } from './with-database.ts';

export function migrateCommand(): Command {
  return createCommand(
    'migrate',
    'bring the database schema up to date (the server also does this when it starts)',
    'DATABASE_URL=postgres://… instep migrate',
  )
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }) => {
      const applied = await withServer(({ prepare }) => prepare());
      printData({ applied: applied.join(', ') || 'nothing; the schema is up to date' }, options);
    });
}
