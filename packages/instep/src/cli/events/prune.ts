import type { Command } from 'commander';
import { readEventRetention } from '../../config/config.ts';
import { pruneLog } from '../../event-log/prune.ts';
import { duration } from '../arguments.ts';
import { createCommand } from '../create-command.ts';
import { printData, printMessage } from '../output.ts';
import { stopSignal } from '../signals.ts';
import { withDatabase } from '../with-database.ts';
import { shownTime } from './format.ts';

type PruneOptions = { olderThan?: number; json?: boolean };

export function eventsPruneCommand(): Command {
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
