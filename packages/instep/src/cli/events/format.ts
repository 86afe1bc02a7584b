import type { EventRow } from '../../event-log/search-events.ts';
import { changeOf } from '../../stripe/parse-logged-event.ts';
import { paint, printable } from '../output.ts';

const COLUMNS = [
  ['position', 8],
  ['received', 20],
  ['event', 28],
  ['type', 7],
  ['status', 10],
  ['customer', 18],
  ['outcome', 10],
  ['deliveries', 10],
] as const;

/** The column headings of `eventLine`. */
export function eventHead(): string {
  return paint('gray', COLUMNS.map(([name, width]) => name.padEnd(width)).join('  ')).trimEnd();
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
  return COLUMNS.map(([, width], column) => printable(cells[column] ?? '').padEnd(width))
    .join('  ')
    .trimEnd();
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
