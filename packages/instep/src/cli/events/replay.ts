import type { Command } from 'commander';
import type { LoggedOutcome } from '../../core/subscription-event.ts';
import { type Replayed, replayEvents } from '../../event-log/replay.ts';
import { type Ingest, IngestPipeline } from '../../ingest/pipeline.ts';
import type { ReadContext } from '../../operate/context.ts';
import { exportEvents } from '../../operate/events.ts';
import { counted } from '../../runtime/amounts.ts';
import { InstepError } from '../../runtime/errors.ts';
import { createLogger } from '../../runtime/logging.ts';
import { createCommand, outcomeOption, sinceOption } from '../arguments.ts';
import { printable, printMessage, writeLine } from '../output.ts';
import { withReadContext } from '../with-database.ts';
import { findEvent } from './log.ts';

type ReplayOptions = { outcome?: LoggedOutcome; since?: number; json?: boolean };

/** The database refused some of the events. */
class ReplayFailed extends InstepError {
  readonly code = 'REPLAY_FAILED';
}

export function eventsReplayCommand(): Command {
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
    await withReadContext((context) => replay(context, id, options));
  });
}

async function replay(
  context: ReadContext,
  id: string | undefined,
  { outcome, since, json }: ReplayOptions,
): Promise<void> {
  const events =
    id === undefined
      ? exportEvents(context, { outcome, sinceMs: since }, 'oldest first')
      : [await findEvent(context, id)];
  const counts = new Map<string, number>();
  const ingest = openPipeline(context);
  for await (const replayed of replayEvents(events, { ingest, query: context.database.query })) {
    counts.set(replayed.outcome, (counts.get(replayed.outcome) ?? 0) + 1);
    await writeLine(json ? replayJson(replayed) : replayLine(replayed));
  }
  const summary = [...counts].map(([name, count]) => `${count} ${name}`).join(', ');
  printMessage(summary === '' ? 'no events' : summary);
  if (counts.has('duplicate')) {
    printMessage(
      'Duplicates had already been decided. To repair teams that have changed since, run instep rebuild.',
    );
  }
  const failed = counts.get('failed') ?? 0;
  if (failed > 0)
    throw new ReplayFailed(`the database refused ${counted(failed, 'event')}: see above`);
}

/** The ingest pipeline without Stripe's API: a running server looks up missing product names. */
function openPipeline({ database, planSelection, linkByMetadata = null }: ReadContext): Ingest {
  const { ingest } = new IngestPipeline({
    database,
    api: { retrieveProductName: async () => null },
    logger: createLogger('silent'),
    planSelection,
    linkByMetadata,
    maxQueued: Number.MAX_SAFE_INTEGER,
  });
  return ingest;
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
