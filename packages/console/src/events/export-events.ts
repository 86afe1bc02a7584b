import {
  type EventFilter,
  exportEvents,
  type OperateContext,
  subscriptionOf,
} from 'instep/operate';
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
export function exportedEvents(context: OperateContext, filter: EventFilter): ExportedList<Column> {
  return { name: 'events', columns: COLUMNS, rows: eventRows(context, filter) };
}

async function* eventRows(context: OperateContext, filter: EventFilter) {
  for await (const event of exportEvents(context, filter)) {
    const subscription = subscriptionOf(event);
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
