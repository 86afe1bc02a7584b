import type { Command } from 'commander';
import { dismissParkedEvents } from '../../event-log/parked-events.ts';
import { duration } from '../arguments.ts';
import { createCommand } from '../create-command.ts';
import { printData } from '../output.ts';
import { stopSignal } from '../signals.ts';
import { withDatabase } from '../with-database.ts';

type DismissOptions = { customer?: string; olderThan?: number; all?: boolean; json?: boolean };

export function eventsDismissCommand(): Command {
  const command = createCommand(
    'dismiss',
    'stop alerts about parked events whose customer will never have a team',
    'instep events dismiss --customer cus_123',
  )
    .option('--customer <id>', 'only events of this customer')
    .option(
      '--older-than <age>',
      'only events received longer ago than this, such as 30d',
      duration,
    )
    .option('--all', 'all parked events')
    .option('--json', 'print JSON');
  return command.action(async ({ customer, olderThan, all, json = false }: DismissOptions) => {
    if (!all && customer === undefined && olderThan === undefined) {
      return command.error('error: choose the events: --customer, --older-than or --all');
    }
    const receivedBeforeMs = olderThan === undefined ? undefined : Date.now() - olderThan;
    const filter = { customerId: customer, receivedBeforeMs };
    const signal = stopSignal();
    const dismissed = await withDatabase(({ query }) => dismissParkedEvents(query, filter, signal));
    printData({ dismissed }, { json });
  });
}
