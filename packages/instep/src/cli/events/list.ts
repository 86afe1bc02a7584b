import { type Command, Option } from 'commander';
import type { ApplicationId } from '../../core/application.ts';
import type { LoggedOutcome } from '../../core/subscription-event.ts';
import type { EventFilter, EventRow } from '../../event-log/event-rows.ts';
import { act } from '../../operate/act.ts';
import type { OperateContext } from '../../operate/context.ts';
import {
  findEvents,
  followEvents,
  type SuggestedLink,
  suggestLinks,
} from '../../operate/events.ts';
import { readTeam } from '../../operate/find-teams.ts';
import {
  applicationId,
  createCommand,
  outcomeOption,
  positiveInteger,
  sinceOption,
  typeOption,
} from '../arguments.ts';
import { CommandFailed, outputClosed, printable, printMessage, writeLine } from '../output.ts';
import { stopSignal } from '../signals.ts';
import { withContext } from '../with-database.ts';
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
  acceptSuggestions?: boolean;
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
    .addOption(
      new Option(
        '--accept-suggestions',
        'link the customers of the listed parked events to the teams that their metadata names',
      ).conflicts('follow'),
    )
    .action(listAndLink);
}

async function listAndLink(options: ListOptions): Promise<void> {
  const links = await withContext((context) => list(context, options));
  if (!options.acceptSuggestions) {
    for (const link of links) printMessage(suggestionText(link));
    return;
  }
  await withContext(async (context, operator) => {
    for (const { customerId, team } of links) {
      const subject = { kind: 'customer', id: customerId } as const;
      const request = { action: 'link-suggested', subject } as const;
      const what = `team ${team.id} to ${printable(customerId)}`;
      for (const { isDone, result } of (await act(context, operator, [request])).results) {
        printMessage(isDone ? `linked ${what}` : `did not link ${what}: ${result.code}`);
      }
    }
  });
}

function suggestionText({ customerId, team: { id, name, customerId: other }, key }: SuggestedLink) {
  const customer = printable(customerId);
  const team = `team ${id}${name === null ? '' : ` (${printable(name)})`}`;
  const by = `by metadata.${key}`;
  const command = `instep team link ${id} --customer ${customer}`;
  return other === null
    ? `${customer} is probably the customer of ${team}, ${by}. Link it: ${command}`
    : `${customer} names ${team}, ${by}, which has another customer, ${printable(other)}. Replace that: ${command}`;
}

/** The maximum number of customers for which a team is suggested. */
const MAX_SUGGESTED = 1_000;

/** Lists events. Returns the links that those that wait for a team suggest. */
async function list(context: OperateContext, options: ListOptions): Promise<SuggestedLink[]> {
  const { limit, follow, json } = options;
  const filter = await filterOf(context, options);
  const show = (event: EventRow) => writeLine(json ? eventJson(event) : eventLine(event));
  if (!json) await writeLine(eventHead());
  if (follow) {
    const signal = AbortSignal.any([stopSignal(), outputClosed.signal]);
    for await (const event of followEvents(context, filter, signal, limit)) await show(event);
    return [];
  }
  let count = 0;
  const parked = new Map<string | null, EventRow>();
  for await (const event of findEvents(context, filter).all()) {
    const isNew = event.outcome === 'parked' && !parked.has(event.customerId);
    if (isNew && parked.size < MAX_SUGGESTED) parked.set(event.customerId, event);
    count += 1;
    if (!(await show(event)) || count === limit) break;
  }
  if (count === 0) printMessage('no events');
  return await suggestLinks(context, [...parked.values()]);
}

async function filterOf(context: OperateContext, options: ListOptions): Promise<EventFilter> {
  const { customer, team: teamId, type, outcome, since: sinceMs } = options;
  if (teamId === undefined) return { customerId: customer, type, outcome, sinceMs };
  const team = await readTeam(context, teamId);
  if (team === null) throw new CommandFailed('NOT_FOUND', `there is no team ${teamId}`);
  if (team.customerId === null) {
    throw new CommandFailed(
      'TEAM_NOT_LINKED',
      `team ${teamId} has no customer. Link it: instep team link ${teamId} --customer CUS`,
    );
  }
  return { customerId: team.customerId, type, outcome, sinceMs };
}
