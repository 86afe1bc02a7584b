import { Command } from 'commander';
import { eventsListCommand } from './events-list.ts';
import { eventsPruneCommand } from './events-prune.ts';
import { eventsReplayCommand } from './events-replay.ts';
import { eventsShowCommand } from './events-show.ts';

export function eventsCommand(): Command {
  return new Command('events')
    .description('list, explain, replay and prune what arrived')
    .addHelpText('after', '\nExample:\n  instep events list --customer cus_123')
    .addCommand(eventsListCommand())
    .addCommand(eventsShowCommand())
    .addCommand(eventsReplayCommand())
    .addCommand(eventsPruneCommand());
}
