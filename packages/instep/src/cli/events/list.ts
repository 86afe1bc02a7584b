import { type Command, Option } from 'commander';
import type { ApplicationId } from '../../core/application-id.ts';
import type { LoggedOutcome } from '../../core/logged-event.ts';
import { readNewestPosition, searchLog, tailLog } from '../../event-log/search.ts';
import type { EventFilter, EventRow } from '../../event-log/search-events.ts';
import type { Query } from '../../postgres/database.ts';
import { readTeam } from '../../postgres/statements/teams.ts';
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
import { NotFound, TeamNotLinked, withDatabase } from '../with-database.ts';
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
    .action((options: ListOptions) => withDatabase(({ query }) => list(query, options)));
}

async function list(query: Query, options: ListOptions): Promise<void> {
  const { limit, follow, json } = options;
  const filter = await filterOf(query, options);
  const newest = await readNewestPosition(query);
  const show = (event: EventRow) => writeLine(json ? eventJson(event) : eventLine(event));
  const found = limited(searchLog(query, filter, 'newest first', newest), limit);

  if (!json) await writeLine(eventHead());
  if (!follow) {
    let count = 0;
    for await (const event of found) {
      count += 1;
      if (!(await show(event))) return;
    }
    if (count === 0) printMessage('no events');
    return;
  }

  const signal = AbortSignal.any([stopSignal(), outputClosed.signal]);
  const last: EventRow[] = [];
  for await (const event of found) last.unshift(event);
  for (const event of last) await show(event);
  const newer = tailLog(query, filter, { after: newest, clockMs: () => performance.now() }, signal);
  for await (const event of newer) await show(event);
}

async function filterOf(query: Query, options: ListOptions): Promise<EventFilter> {
  const { customer, team: teamId, type, outcome, since: sinceMs } = options;
  if (teamId === undefined) return { customerId: customer, type, outcome, sinceMs };
  const team = await readTeam(query, teamId);
  if (team === null) throw new NotFound(`there is no team ${teamId}`);
  if (team.customerId === null) {
    throw new TeamNotLinked(
      `team ${teamId} has no customer. Link it: instep team link ${teamId} --customer CUS`,
    );
  }
  return { customerId: team.customerId, type, outcome, sinceMs };
}

async function* limited<Item>(items: AsyncIterable<Item>, limit: number): AsyncGenerator<Item> {
  let count = 0;
  for await (const item of items) {
    yield item;
    count += 1;
    if (count === limit) return;
  }
}
