import { Command } from 'commander';
import { readEventRetention } from '../../config/config.ts';
import { pruneLog } from '../../event-log/prune.ts';
import { duration } from '../arguments.ts';
import { printData, tell } from '../output.ts';
import { nextSignal } from '../signals.ts';
import { withDatabase } from '../with-database.ts';
import { shownTime } from './format.ts';

type PruneOptions = { olderThan?: number; json?: boolean };

export function eventsPruneCommand(): Command {
  const command = new Command('prune')
    .description('delete old events that nothing needs any more (a running server does it, too)')
    .option('--older-than <time>', 'received so long ago (default: EVENT_RETENTION)', duration)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  instep events prune --older-than 90d');
  return command.action(async ({ olderThan, json }: PruneOptions) => {
    const retentionMs = olderThan ?? readEventRetention(process.env);
    if (retentionMs === null) {
      return command.error('error: EVENT_RETENTION is off: say how old with --older-than 90d');
    }
    const cutoffMs = Date.now() - retentionMs;
    const stopping = new AbortController();
    void nextSignal().then(() => stopping.abort());
    const pruned = await withDatabase(({ query }) =>
      pruneLog({ query, cutoffMs }, stopping.signal),
    );
    printData({ pruned, receivedBefore: shownTime(cutoffMs) }, json ? { json } : {});
    if (stopping.signal.aborted) tell('stopped before the end: run it again for the rest');
  });
}
