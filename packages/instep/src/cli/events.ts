// The commands about logged events: find, explain, replay and redact them.

import { type Command, Option } from 'commander';
import { type EventRow, type LoggedOutcome, parseLogged } from 'instep-engine/log';
import type { ApplicationId } from 'instep-engine/postgres';
import { NO_PLAN, type PlanInRow } from 'instep-engine/rule';
import { counted } from 'instep-engine/runtime';
import {
  type ExplainedEvent,
  eventsNamed,
  explainEvent,
  findEvents,
  type OperateContext,
  type Operator,
  type Reason,
  type Replayed,
  reasonText,
} from 'instep-operate';
import { performExpecting } from 'instep-operate/host';
import {
  applicationId,
  createCommand,
  outcomeOption,
  positiveInteger,
  sinceOption,
  typeOption,
} from './arguments.ts';
import {
  type Columns,
  CommandFailed,
  type Json,
  PLAN_COLUMNS,
  paint,
  planCells,
  print,
  printable,
  printData,
  printMessage,
  type RowFormat,
  shownTime,
  tableHead,
  tableLine,
  writeRow,
  writeRows,
} from './output.ts';
import { askReason, customerOf, performTask, requireTeam, withContext } from './with-context.ts';

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

type ListOptions = {
  customer?: string;
  team?: ApplicationId;
  type?: string;
  outcome?: LoggedOutcome;
  since?: number;
  limit: number;
} & Json;

function eventsListCommand(): Command {
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
    .option('--json', 'print a JSON line for each event')
    .action(list);
}

async function list({ customer, team, type, outcome, since: sinceMs, ...output }: ListOptions) {
  await withContext(async (context) => {
    const customerId = team === undefined ? customer : customerOf(await requireTeam(context, team));
    const found = findEvents(context, { customerId, type, outcome, sinceMs }).all();
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
    .action(async (id: string, { body, json }: { body?: boolean } & Json) => {
      const { event, explained } = await withContext(async (context) => {
        const event = await findEvent(context, id);
        return { event, explained: await explainEvent(context, event) };
      });
      if (body) process.stdout.write(event.body);
      else if (json) print(showJson(event, explained));
      else show(event, explained);
    });
}

/** The event, with what only the page of a single one shows. */
function described(event: EventRow, { parsed }: ExplainedEvent) {
  const { subscription, previousAttributes } = parsed ?? {};
  return {
    ...eventData(event),
    productId: subscription?.productId ?? null,
    // Only the names: the values can hold personal data.
    replaced: previousAttributes ? Object.keys(previousAttributes).join(', ') : null,
  };
}

function showJson(event: EventRow, explained: ExplainedEvent): string {
  const { reasons, plans, teams } = explained;
  const why = reasons.map(whyText);
  const now = teams.map(({ id, plan }) => ({ teamId: id, plan }));
  return JSON.stringify({ ...described(event, explained), why, reasons, ...plans, now });
}

/** The reason, and the command that resolves it, if one does. */
function whyText(reason: Reason): string {
  const text = reasonText(reason);
  if (reason.code === 'no-team') {
    return `${text} Run \`instep team link ID --customer ${reason.customerId}\`.`;
  }
  if (reason.code === 'readable-now') {
    return `${text} Run \`instep events replay ${reason.position}\`.`;
  }
  return text;
}

function show(event: EventRow, explained: ExplainedEvent): void {
  const { reasons, plans, teams } = explained;
  printData(described(event, explained), {});
  print(`\n${reasons.map(whyText).map(printable).join('\n')}`);
  if (plans === null && teams.length === 0) return;

  const before = plans?.before ?? NO_PLAN;
  const after = plans?.after ?? NO_PLAN;
  const columns: Columns = [['', 'before'.length], ...PLAN_COLUMNS];
  const line = (name: string, plan: PlanInRow, than: PlanInRow, note = '') =>
    tableLine(columns, [paint('gray', name), ...planCells(plan, than), note]);
  const lines = [
    tableHead(columns),
    ...(plans === null ? [] : [line('before', before, before), line('after', after, before)]),
    ...teams.map(({ id, plan }) => line('now', plan, plan, `team ${id}`)),
  ];
  print(`\n${lines.join('\n')}`);
}

function eventsRedactCommand(): Command {
  return createCommand(
    'redact',
    "remove personal data from a customer's logged events without changing any team",
    'instep events redact --customer cus_123',
  )
    .requiredOption('--customer <id>', 'customer id')
    .option('--json', 'print JSON')
    .action(async ({ customer, ...output }: { customer: string } & Json) => {
      const task = { action: 'redact', customerId: customer } as const;
      const { events: redacted } = await performTask(task, 'redacted');
      printData({ customer, redacted }, output);
    });
}

type ReplayOptions = { outcome?: LoggedOutcome; since?: number } & Json;

function eventsReplayCommand(): Command {
  const command = createCommand(
    'replay',
    'reprocess logged events (idempotent)',
    'instep events replay --outcome unreadable --since 30d',
  )
    .argument('[event]', 'position in the log, or event id')
    .addOption(outcomeOption())
    .addOption(sinceOption())
    .option('--json', 'print a JSON line for each event');
  return command.action(async (id: string | undefined, options: ReplayOptions) => {
    const hasFilter = options.outcome !== undefined || options.since !== undefined;
    if ((id !== undefined) === hasFilter) {
      command.error('error: give one event, or --outcome, --since or both');
    }
    await withContext((context, operator) => replay(context, operator, id, options));
  });
}

async function replay(
  context: OperateContext,
  operator: Operator,
  id: string | undefined,
  { outcome, since, json }: ReplayOptions,
): Promise<void> {
  const events =
    id === undefined
      ? findEvents(context, { outcome, sinceMs: since }, 'oldest first').all()
      : [await findEvent(context, id)];
  const onReplayed = (replayed: Replayed) => writeRow(REPLAYED, replayed, json);
  const task = { action: 'replay', events, onReplayed } as const;
  const { outcomes } = await performExpecting(context, operator, task, 'replayed');
  const summary = Object.entries(outcomes).map(([name, count]) => `${count} ${name}`);
  printMessage(summary.join(', ') || 'no events');
  if (outcomes.duplicate !== undefined) {
    printMessage(
      'Duplicates had already been decided. To repair teams that have changed since, run instep rebuild.',
    );
  }
  const { failed = 0 } = outcomes;
  if (failed > 0)
    throw new CommandFailed(
      'REPLAY_FAILED',
      `the database refused ${counted(failed, 'event')}: see above`,
    );
}

/** Without headings, because the last cells can be empty. */
const REPLAYED: RowFormat<Replayed> = {
  columns: [
    ['position', 8, ({ event }) => String(event.position).padStart(8)],
    ['event', 0, ({ event }) => event.eventId],
    ['outcome', 0, ({ event, outcome }) => `${event.outcome} → ${outcome}`],
    ['teams', 0, ({ teamIds }) => (teamIds.length === 0 ? '' : `team ${teamIds.join(', ')}`)],
    ['error', 0, ({ error }) => error?.message ?? ''],
  ],
  data: ({ event: { position, eventId, outcome: was }, outcome, teamIds, error }) => ({
    ...{ position, eventId, was, outcome, teamIds },
    error: error?.message ?? null,
  }),
};

const EVENTS: RowFormat<EventRow> = {
  columns: [
    ['position', 8, ({ position }) => String(position).padStart(8)],
    ['received', 20, ({ receivedAtMs }) => shownTime(receivedAtMs)],
    ['event', 28, ({ eventId }) => eventId],
    ['type', 7, ({ type }) => type.slice(type.lastIndexOf('.') + 1)],
    ['status', 10, statusOf],
    ['customer', 18, ({ customerId }) => customerId],
    ['outcome', 10, ({ outcome }) => outcome],
    ['deliveries', 10, ({ deliveries }) => deliveries],
  ],
  data: eventData,
};

function eventData(event: EventRow) {
  const { position, eventId, type, customerId, subscriptionId, outcome, deliveries } = event;
  const { createdAtMs, receivedAtMs } = event;
  const createdAt = createdAtMs === null ? null : new Date(createdAtMs).toISOString();
  const receivedAt = new Date(receivedAtMs).toISOString();
  const status = statusOf(event);
  const ids = { position, eventId, type, customerId, subscriptionId };
  return { ...ids, status, createdAt, receivedAt, outcome, deliveries };
}

function statusOf(event: EventRow): string | null {
  return parseLogged(event)?.subscription.status ?? null;
}

const SHOWN = 20;

/** Finds an event by its position in the log, which is a whole number, or by its id. @throws CommandFailed */
async function findEvent(context: OperateContext, text: string): Promise<EventRow> {
  const found = await eventsNamed(context, text);
  const [event] = found;
  if (event === undefined) {
    throw /^\d+$/.test(text)
      ? new CommandFailed('NOT_FOUND', `there is no event at position ${text}`)
      : new CommandFailed('NOT_FOUND', `no event in the log has the id ${printable(text)}`);
  }
  if (found.length === 1) return event;
  const lines = found
    .slice(-SHOWN)
    .map((event) => `  ${event.position}  ${shownTime(event.receivedAtMs)}  ${event.outcome}`);
  throw new CommandFailed(
    'EVENT_AMBIGUOUS',
    `${found.length} events have the id ${printable(text)}: give the position of one of them\n` +
      lines.join('\n'),
  );
}
