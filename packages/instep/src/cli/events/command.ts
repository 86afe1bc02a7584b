import type { Command } from 'commander';
import { readEventRetention } from '../../config/config.ts';
import type { LoggedOutcome } from '../../core/subscription-event.ts';
import type { Replayed } from '../../event-log/replay.ts';
import type { OperateContext, Operator } from '../../operate/context.ts';
import { findEvents } from '../../operate/events.ts';
import { perform } from '../../operate/perform.ts';
import { counted } from '../../runtime/amounts.ts';
import { createCommand, duration, outcomeOption, sinceOption } from '../arguments.ts';
import { CommandFailed, printable, printData, printMessage, writeLine } from '../output.ts';
import { stopSignal } from '../signals.ts';
import { askReason, withContext } from '../with-database.ts';
import { eventsListCommand } from './list.ts';
import { findEvent, shownTime } from './log.ts';
import { eventsShowCommand } from './show.ts';

export function eventsCommand(): Command {
  return createCommand(
    'events',
    'list, explain, replay, dismiss, prune and redact logged events',
    'instep events list --customer cus_123',
  )
    .addCommand(askReason(eventsListCommand()))
    .addCommand(eventsShowCommand())
    .addCommand(askReason(eventsReplayCommand()))
    .addCommand(askReason(eventsDismissCommand()))
    .addCommand(askReason(eventsPruneCommand()))
    .addCommand(askReason(eventsRedactCommand()));
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
    const task = { action: 'dismiss', ...filter, signal: stopSignal() } as const;
    const dismissed = await withContext((context, operator) => perform(context, operator, task));
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
    const receivedBeforeMs = Date.now() - retentionMs;
    const signal = stopSignal();
    const task = { action: 'prune', receivedBeforeMs, signal } as const;
    const pruned = await withContext((context, operator) => perform(context, operator, task));
    printData({ pruned, receivedBefore: shownTime(receivedBeforeMs) }, { json });
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
  const redacted = await withContext((context, operator) =>
    perform(context, operator, { action: 'redact', customerId: customer }),
  );
  printData({ customer, redacted }, { json });
}

type ReplayOptions = { outcome?: LoggedOutcome; since?: number; json?: boolean };

function eventsReplayCommand(): Command {
  const command = createCommand(
    'replay',
    'reprocess logged events (idempotent)',
    'instep events replay --outcome unreadable --since 30d',
  )
    .argument('[event]', 'position in the log, or event id')
    .addOption(outcomeOption())
    .addOption(sinceOption())
    .option('--json', 'print a JSON line for each event');
  return command.action(async (id: string | undefined, options: ReplayOptions) => {
    const hasFilter = options.outcome !== undefined || options.since !== undefined;
    if ((id !== undefined) === hasFilter) {
      command.error('error: give one event, or --outcome, --since or both');
    }
    await withContext((context, operator) => replay(context, operator, id, options));
  });
}

async function replay(
  context: OperateContext,
  operator: Operator,
  id: string | undefined,
  { outcome, since, json }: ReplayOptions,
): Promise<void> {
  const events =
    id === undefined
      ? findEvents(context, { outcome, sinceMs: since }, 'oldest first').all()
      : [await findEvent(context, id)];
  const onReplayed = (replayed: Replayed) =>
    writeLine(json ? replayJson(replayed) : replayLine(replayed));
  const outcomes = await perform(context, operator, { action: 'replay', events, onReplayed });
  const summary = Object.entries(outcomes).map(([name, count]) => `${count} ${name}`);
  printMessage(summary.join(', ') || 'no events');
  if (outcomes.duplicate !== undefined) {
    printMessage(
      'Duplicates had already been decided. To repair teams that have changed since, run instep rebuild.',
    );
  }
  const { failed = 0 } = outcomes;
  if (failed > 0)
    throw new CommandFailed(
      'REPLAY_FAILED',
      `the database refused ${counted(failed, 'event')}: see above`,
    );
}

function replayLine({ event, outcome, teamIds, error }: Replayed): string {
  const team = teamIds.length === 0 ? '' : `  team ${teamIds.join(', ')}`;
  const why = error === null ? '' : `  ${printable(error.message)}`;
  const id = printable(event.eventId ?? '-');
  return `${String(event.position).padStart(8)}  ${id}  ${event.outcome} → ${outcome}${team}${why}`;
}

function replayJson({ event, outcome, teamIds, error }: Replayed): string {
  return JSON.stringify({
    position: event.position,
    eventId: event.eventId,
    was: event.outcome,
    outcome,
    teamIds,
    error: error?.message ?? null,
  });
}
