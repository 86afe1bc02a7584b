import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { pseudonymsWith, redactEvents } from '../../event-log/redact.ts';
import { createCommand } from '../create-command.ts';
import { printData } from '../output.ts';
import { withDatabase } from '../with-database.ts';

type RedactOptions = { customer: string; json?: boolean };

export function eventsRedactCommand(): Command {
  return createCommand(
    'redact',
    "remove personal data from a customer's logged events without changing any team",
    'instep events redact --customer cus_123',
  )
    .requiredOption('--customer <id>', 'customer id')
    .option('--json', 'print JSON')
    .action(redact);
}

async function redact({ customer, json = false }: RedactOptions): Promise<void> {
  // The key is discarded afterward.
  const pseudonymOf = pseudonymsWith(randomBytes(32));
  const redacted = await withDatabase(({ query }) => redactEvents(query, customer, pseudonymOf));
  printData({ customer, redacted }, { json });
}
