import type { EventRow } from '../../event-log/event-rows.ts';
import type { OperateContext } from '../../operate/context.ts';
import { eventsNamed } from '../../operate/events.ts';
import { changeOf } from '../../stripe/parse-event.ts';
import { type Columns, CommandFailed, printable, tableHead, tableLine } from '../output.ts';

const COLUMNS: Columns = [
  ['position', 8],
  ['received', 20],
  ['event', 28],
  ['type', 7],
  ['status', 10],
  ['customer', 18],
  ['outcome', 10],
  ['deliveries', 10],
];

/** The column headings of `eventLine`. */
export function eventHead(): string {
  return tableHead(COLUMNS);
}

export function eventLine(event: EventRow): string {
  const { position, eventId, type, customerId, outcome, deliveries, receivedAtMs } = event;
  const cells = [
    String(position).padStart(8),
    shownTime(receivedAtMs),
    eventId ?? '-',
    type.slice(type.lastIndexOf('.') + 1),
    statusOf(event) ?? '-',
    customerId ?? '-',
    outcome,
    String(deliveries),
  ];
  return tableLine(COLUMNS, cells.map(printable));
}

export function eventJson(event: EventRow): string {
  const { position, eventId, type, customerId, subscriptionId, outcome, deliveries } = event;
  const { createdAtMs, receivedAtMs } = event;
  return JSON.stringify({
    position,
    eventId,
    type,
    customerId,
    subscriptionId,
    status: statusOf(event),
    createdAt: createdAtMs === null ? null : new Date(createdAtMs).toISOString(),
    receivedAt: new Date(receivedAtMs).toISOString(),
    outcome,
    deliveries,
  });
}

/** A time in UTC to the second. */
export function shownTime(atMs: number): string {
  return new Date(atMs).toISOString().replace('T', ' ').replace(/\.\d+/, '');
}

function statusOf(event: EventRow): string | null {
  return changeOf(event)?.subscription.status ?? null;
}

const SHOWN = 20;

/**
 * Finds an event by its position in the log, which is a whole number, or by its id.
 *
 * @throws CommandFailed
 */
export async function findEvent(context: OperateContext, text: string): Promise<EventRow> {
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
    .map((one) => `  ${one.position}  ${shownTime(one.receivedAtMs)}  ${one.outcome}`);
  throw new CommandFailed(
    'EVENT_AMBIGUOUS',
    `${found.length} events have the id ${printable(text)}: give the position of one of them\n` +
      lines.join('\n'),
  );
}
