import { createHmac, randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { redactEvents } from '../../event-log/redact.ts';
import { createCommand } from '../create-command.ts';
import { printData } from '../output.ts';
import { withDatabase } from '../with-database.ts';

type RedactOptions = { customer: string; json?: boolean };

const REDACTED = /^redacted_[0-9a-f]{16}$/;

export function eventsRedactCommand(): Command {
  return createCommand(
    'redact',
    "remove personal data from a customer's logged events; no team changes",
    'instep events redact --customer cus_123',
  )
    .requiredOption('--customer <id>', 'customer id')
    .option('--json', 'print JSON')
    .action(redact);
}

async function redact({ customer, json = false }: RedactOptions): Promise<void> {
  // The text behind a pseudonym can't be found by trying texts, because the key is not kept.
  const key = randomBytes(32);
  const pseudonymOf = (text: string) => {
    if (REDACTED.test(text)) return text;
    return `redacted_${createHmac('sha256', key).update(text).digest('hex').slice(0, 16)}`;
  };
  const redacted = await withDatabase(({ query }) => redactEvents(query, customer, pseudonymOf));
  printData({ customer, redacted }, { json });
}
