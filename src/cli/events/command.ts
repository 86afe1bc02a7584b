import { Command } from 'commander';
import { eventsListCommand } from './list.ts';
import { eventsPruneCommand } from './prune.ts';
import { eventsReplayCommand } from './replay.ts';
import { eventsShowCommand } from './show.ts';

export function eventsCommand(): Command {
  return new Command('events')
    .description('list, explain, replay and prune what arrived')
    .addHelpText('after', '\nExample:\n  instep events list --customer cus_123')
    .addCommand(eventsListCommand())
    .addCommand(eventsShowCommand())
    .addCommand(eventsReplayCommand())
    .addCommand(eventsPruneCommand());
}
