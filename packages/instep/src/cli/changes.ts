// The command about the consumers of changes of plans: how far they are, and what they failed to handle.

import type { Command } from 'commander';
import { done, recorded } from 'instep-operate/host';
import { findConsumers, removeConsumer, replayChange } from '../changes/consumers.ts';
import { changeId, createCommand } from './arguments.ts';
import { type Json, printData } from './output.ts';
import { askReason, withContext } from './with-context.ts';

type Options = { consumer?: string; replay?: number; remove?: boolean } & Json;

export function changesCommand(): Command {
  const command = createCommand(
    'changes',
    'show how far the consumers of changes of plans are',
    'instep changes --consumer mailer --replay 42',
  )
    .option('--consumer <name>', 'the consumer to act on')
    .option('--replay <id>', 'pass on a change that was set aside, again', changeId)
    .option('--remove', 'forget the consumer')
    .option('--json', 'print a JSON line for each consumer')
    .action(run);
  return askReason(command);
}

async function run(
  { consumer, replay: changeId, remove, ...output }: Options,
  command: Command,
): Promise<void> {
  const acts = changeId !== undefined || remove === true;
  if (acts !== (consumer !== undefined)) {
    command.error('error: give --consumer together with --replay or --remove');
  }
  await withContext(async (context, operator) => {
    if (consumer === undefined) {
      for (const one of await findConsumers(context)) printData(one, output);
      return;
    }
    const action = changeId === undefined ? 'remove-consumer' : 'replay-change';
    const about = { operator, action, subject: `consumer:${consumer}` };
    await recorded(context, about, ({ inTransaction }) =>
      inTransaction(async (query) => {
        if (changeId === undefined) await removeConsumer(query, consumer);
        else await replayChange(query, consumer, changeId);
        return done({ code: 'done' });
      }),
    );
  });
}
