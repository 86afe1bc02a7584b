import { type Command, Option } from 'commander';
import type { ApplicationId } from '../../core/application-id.ts';
import type { LoggedOutcome } from '../../core/logged-event.ts';
import type { EventFilter, EventRow } from '../../event-log/search-events.ts';
import type { ReadContext } from '../../operate/context.ts';
import { exportEvents, followEvents } from '../../operate/events.ts';
import { readTeam } from '../../operate/find-teams.ts';
import {
  applicationId,
  createCommand,
  outcomeOption,
  positiveInteger,
  sinceOption,
  typeOption,
} from '../arguments.ts';
import { outputClosed, printMessage, writeLine } from '../output.ts';
import { stopSignal } from '../signals.ts';
import { NotFound, TeamNotLinked, withReadContext } from '../with-database.ts';
import { eventHead, eventJson, eventLine } from './log.ts';

type ListOptions = {
  customer?: string;
  team?: ApplicationId;
  type?: string;
  outcome?: LoggedOutcome;
  since?: number;
  limit: number;
  follow?: boolean;
  json?: boolean;
};

export function eventsListCommand(): Command {
  return createCommand(
    'list',
    'list events, newest first',
    'instep events list --team 1 --since 7d',
  )
    .option('--customer <id>', 'only events of this customer')
    .addOption(
      new Option('--team <id>', "only events of this team's customer")
        .argParser(applicationId)
        .conflicts('customer'),
    )
    .addOption(typeOption())
    .addOption(outcomeOption())
    .addOption(sinceOption())
    .option('--limit <count>', 'maximum number of events', positiveInteger, 20)
    .option('--follow', 'keep printing new events until Ctrl-C')
    .option('--json', 'print a JSON line for each event')
    .action((options: ListOptions) => withReadContext((context) => list(context, options)));
}

async function list(context: ReadContext, options: ListOptions): Promise<void> {
  const { limit, follow, json } = options;
  const filter = await filterOf(context, options);
  const show = (event: EventRow) => writeLine(json ? eventJson(event) : eventLine(event));
  if (!json) await writeLine(eventHead());
  if (follow) {
    const signal = AbortSignal.any([stopSignal(), outputClosed.signal]);
    for await (const event of followEvents(context, filter, signal, limit)) await show(event);
    return;
  }
  let count = 0;
  for await (const event of exportEvents(context, filter)) {
    count += 1;
    if (!(await show(event)) || count === limit) return;
  }
  if (count === 0) printMessage('no events');
}

async function filterOf(context: ReadContext, options: ListOptions): Promise<EventFilter> {
  const { customer, team: teamId, type, outcome, since: sinceMs } = options;
  if (teamId === undefined) return { customerId: customer, type, outcome, sinceMs };
  const team = await readTeam(context, teamId);
  if (team === null) throw new NotFound(`there is no team ${teamId}`);
  if (team.customerId === null) {
    throw new TeamNotLinked(
      `team ${teamId} has no customer. Link it: instep team link ${teamId} --customer CUS`,
    );
  }
  return { customerId: team.customerId, type, outcome, sinceMs };
}
