// The commands about logged events: find, explain, replay and redact them.

import { type Command, Option } from 'commander';
import { type EventRow, LOGGED_OUTCOMES, type LoggedOutcome, parseLogged } from 'instep-engine/log';
import type { ApplicationId } from 'instep-engine/postgres';
import { counted } from 'instep-engine/runtime';
import {
  eventNamed,
  explainEvent,
  findEvents,
  type OperateContext,
  type Operator,
  perform,
  type Reason,
  type Replayed,
  reasonText,
  replayLog,
} from 'instep-operate';
import { applicationId, createCommand, positiveInteger } from './arguments.ts';
import {
  CommandFailed,
  type Json,
  printable,
  printData,
  printMessage,
  type RowFormat,
  writeRow,
  writeRows,
} from './output.ts';
import { askReason, customerOf, requireTeam, withContext } from './with-context.ts';

export function eventsCommand(): Command {
  return createCommand(
    'events',
    'list, explain, replay and redact logged events',
    'instep events list --customer cus_123',
  )
    .addCommand(eventsListCommand())
    .addCommand(eventsShowCommand())
    .addCommand(askReason(eventsReplayCommand()))
    .addCommand(askReason(eventsRedactCommand()));
}

const outcomeOption = () =>
  new Option('--outcome <outcome>', 'only events with this outcome').choices(LOGGED_OUTCOMES);

type ListOptions = {
  customer?: string;
  team?: ApplicationId;
  outcome?: LoggedOutcome;
  limit: number;
} & Json;

function eventsListCommand(): Command {
  return createCommand('list', 'list events, newest first', 'instep events list --team 1')
    .option('--customer <id>', 'only events of this customer')
    .addOption(
      new Option('--team <id>', "only events of this team's customer")
        .argParser(applicationId)
        .conflicts('customer'),
    )
    .addOption(outcomeOption())
    .option('--limit <count>', 'maximum number of events', positiveInteger, 20)
    .option('--json', 'print a JSON line for each event')
    .action(list);
}

async function list({ customer, team, outcome, ...output }: ListOptions) {
  await withContext(async (context) => {
    const customerId = team === undefined ? customer : customerOf(await requireTeam(context, team));
    const found = findEvents(context, { customerId, outcome }).all();
    if ((await writeRows(EVENTS, found, output)) === 0) printMessage('no events');
  });
}

function eventsShowCommand(): Command {
  return createCommand(
    'show',
    'show an event, its outcome with the reason, and the plan before and after',
    'instep events show evt_123',
  )
    .argument('<event>', 'position in the log, or event id')
    .option('--body', 'print only the body, byte for byte')
    .option('--json', 'print JSON')
    .action(async (id: string, { body, ...output }: { body?: boolean } & Json) => {
      await withContext(async (context) => {
        const event = await findEvent(context, id);
        if (body) process.stdout.write(event.body);
        else printData(await explainedData(context, event), output);
      });
    });
}

async function explainedData(context: OperateContext, event: EventRow) {
  const { parsed, reasons, plans, teams } = await explainEvent(context, event);
  const { subscription, previousAttributes } = parsed ?? {};
  return {
    ...eventData(event),
    productId: subscription?.productId ?? null,
    // Only the names: the values can hold personal data.
    replaced: previousAttributes ? Object.keys(previousAttributes).join(', ') : null,
    ...plans,
    now: teams.map(({ id, plan }) => ({ teamId: id, plan })),
    reasons: reasons.map(({ code }) => code),
    why: reasons.map((reason) => whyText(reason, event)),
  };
}

/** The reason, and the command that resolves it, if one does. */
function whyText(reason: Reason, { customerId, position }: EventRow): string {
  const text = reasonText(reason);
  if (reason.code === 'no-team') {
    return `${text} Run \`instep team link ID --customer ${customerId}\`.`;
  }
  if (reason.code === 'readable-now') return `${text} Run \`instep events replay ${position}\`.`;
  return text;
}

function eventsRedactCommand(): Command {
  return createCommand(
    'redact',
    "remove personal data from a customer's logged events without changing any team",
    'instep events redact --customer cus_123',
  )
    .requiredOption('--customer <id>', 'customer id')
    .option('--json', 'print JSON')
    .action(redact);
}

async function redact({ customer, ...output }: { customer: string } & Json) {
  const subject = { kind: 'customer', id: customer } as const;
  const { results } = await withContext((context, operator) =>
    perform(context, operator, [{ action: 'redact', subject }]),
  );
  for (const { result } of results) {
    if (result.code !== 'redacted') {
      const code = result.code === 'failed' ? result.error : result.code;
      throw new CommandFailed('REDACT_FAILED', `nothing was redacted: ${code}`);
    }
    printData({ customer, redacted: result.events }, output);
  }
}

type ReplayOptions = { outcome?: LoggedOutcome } & Json;

function eventsReplayCommand(): Command {
  const command = createCommand(
    'replay',
    'reprocess logged events (idempotent)',
    'instep events replay --outcome unreadable',
  )
    .argument('[event]', 'position in the log, or event id')
    .addOption(outcomeOption())
    .option('--json', 'print a JSON line for each event');
  return command.action(async (id: string | undefined, options: ReplayOptions) => {
    if ((id === undefined) === (options.outcome === undefined)) {
      command.error('error: give one event, or --outcome');
    }
    await withContext((context, operator) => replay(context, operator, id, options));
  });
}

async function replay(
  context: OperateContext,
  operator: Operator,
  id: string | undefined,
  { outcome, ...output }: ReplayOptions,
): Promise<void> {
  const events =
    id === undefined
      ? findEvents(context, { outcome }, 'oldest first').all()
      : [await findEvent(context, id)];
  const onReplayed = (replayed: Replayed) => writeRow(REPLAYED, replayed, output);
  const { failed = 0, ...others } = await replayLog(context, operator, events, onReplayed);
  const summary = Object.entries(others).map(([name, count]) => `${count} ${name}`);
  printMessage(summary.join(', ') || 'no events');
  if (others.duplicate !== undefined) {
    printMessage(
      'Duplicates had already been decided. To repair teams that have changed since, run instep rebuild.',
    );
  }
  if (failed > 0) {
    const refused = `the database refused ${counted(failed, 'event')}: see above`;
    throw new CommandFailed('REPLAY_FAILED', refused);
  }
}

const REPLAYED: RowFormat<Replayed> = {
  columns: [
    ['position', 8],
    ['eventId', 28],
    ['was', 10],
    ['outcome', 10],
    ['teamIds', 8],
    ['error', 0],
  ],
  data: ({ event: { position, eventId, outcome: was }, outcome, teamIds, error }) => ({
    ...{ position, eventId, was, outcome, teamIds },
    error: error?.message ?? null,
  }),
};

const EVENTS: RowFormat<EventRow> = {
  columns: [
    ['position', 8],
    ['receivedAt', 24],
    ['eventId', 28],
    ['status', 10],
    ['customerId', 18],
    ['outcome', 10],
    ['deliveries', 0],
  ],
  data: eventData,
};

function eventData(event: EventRow) {
  const { position, eventId, type, customerId, subscriptionId, outcome, deliveries } = event;
  const { createdAtMs, receivedAtMs } = event;
  return {
    ...{ position, eventId, type, customerId, subscriptionId },
    status: parseLogged(event)?.subscription.status ?? null,
    createdAt: createdAtMs === null ? null : new Date(createdAtMs),
    receivedAt: new Date(receivedAtMs),
    ...{ outcome, deliveries },
  };
}

/** Finds an event by its position in the log, or the newest one with an id: fixtures can share one. @throws CommandFailed */
async function findEvent(context: OperateContext, text: string): Promise<EventRow> {
  const event = await eventNamed(context, text);
  if (event !== null) return event;
  const named = /^\d+$/.test(text) ? `at position ${text}` : `with the id ${printable(text)}`;
  throw new CommandFailed('NOT_FOUND', `the log has no event ${named}`);
}
