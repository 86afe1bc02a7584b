import type { Command } from 'commander';
import { createCommand } from '../create-command.ts';
import { eventsDismissCommand } from './dismiss.ts';
import { eventsListCommand } from './list.ts';
import { eventsPruneCommand } from './prune.ts';
import { eventsRedactCommand } from './redact.ts';
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
