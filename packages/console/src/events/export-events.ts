import type { EventFilter } from 'instep/operate';
import { changeOf, type Query, searchLog } from 'instep/operate/inside';
import { type ExportedList, exportedTime } from '../export.ts';

const COLUMNS = [
  'position',
  'received_at',
  'created_at',
  'outcome',
  'event',
  'type',
  'status',
  'product',
  'customer',
  'subscription',
  'deliveries',
] as const;

type Column = (typeof COLUMNS)[number];

/** The matching events, the newest first. */
export function exportedEvents(query: Query, filter: EventFilter): ExportedList<Column> {
  return { name: 'events', columns: COLUMNS, rows: eventRows(query, filter) };
}

async function* eventRows(query: Query, filter: EventFilter) {
  for await (const event of searchLog(query, filter, 'newest first')) {
    const subscription = changeOf(event)?.subscription;
    yield {
      position: event.position,
      received_at: exportedTime(event.receivedAtMs),
      created_at: exportedTime(event.createdAtMs),
      outcome: event.outcome,
      event: event.eventId,
      type: event.type,
      status: subscription?.status ?? null,
      product: subscription?.productId ?? null,
      customer: event.customerId,
      subscription: event.subscriptionId,
      deliveries: event.deliveries,
    };
  }
}
