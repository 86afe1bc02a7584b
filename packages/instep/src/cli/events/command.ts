import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { readEventRetention } from '../../config/config.ts';
import { dismissParkedEvents } from '../../event-log/parked-events.ts';
import { pruneLog } from '../../event-log/prune.ts';
import { pseudonymsWith, redactEvents } from '../../event-log/redact.ts';
import { createCommand, duration } from '../arguments.ts';
import { printData, printMessage } from '../output.ts';
import { stopSignal } from '../signals.ts';
import { withDatabase } from '../with-database.ts';
import { eventsListCommand } from './list.ts';
import { shownTime } from './log.ts';
import { eventsReplayCommand } from './replay.ts';
import { eventsShowCommand } from './show.ts';

export function eventsCommand(): Command {
  return createCommand(
    'events',
    'list, explain, replay, dismiss, prune and redact logged events',
    'instep events list --customer cus_123',
  )
    .addCommand(eventsListCommand())
    .addCommand(eventsShowCommand())
    .addCommand(eventsReplayCommand())
    .addCommand(eventsDismissCommand())
    .addCommand(eventsPruneCommand())
    .addCommand(eventsRedactCommand());
}

type DismissOptions = { customer?: string; olderThan?: number; all?: boolean; json?: boolean };

function eventsDismissCommand(): Command {
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

type PruneOptions = { olderThan?: number; json?: boolean };

function eventsPruneCommand(): Command {
  const command = createCommand(
    'prune',
    'delete old events that are no longer needed (a running server also does this)',
    'instep events prune --older-than 90d',
  )
    .option('--older-than <age>', 'minimum age (default: EVENT_RETENTION)', duration)
    .option('--json', 'print JSON');
  return command.action(async ({ olderThan, json = false }: PruneOptions) => {
    const retentionMs = olderThan ?? readEventRetention(process.env);
    if (retentionMs === null) {
      return command.error('error: EVENT_RETENTION is off. Set an age: --older-than 90d');
    }
    const cutoffMs = Date.now() - retentionMs;
    const signal = stopSignal();
    const pruned = await withDatabase(({ query }) => pruneLog({ query, cutoffMs }, signal));
    printData({ pruned, receivedBefore: shownTime(cutoffMs) }, { json });
    if (signal.aborted) printMessage('stopped early: run the command again to prune the rest');
  });
}

type RedactOptions = { customer: string; json?: boolean };

function eventsRedactCommand(): Command {
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
