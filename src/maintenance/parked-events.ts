import type { Ingest } from '../ingest/pipeline.ts';
import type { ReceivedEvent } from '../ingest/received-event.ts';
import type { Query } from '../postgres/database.ts';
import { readDueParkedEvents } from '../queries/events.ts';
import { readableEventOf } from '../stripe/logged-event.ts';

const BATCH = 200;

/** Ingests parked events again once a team has their customer. */
export async function applyParkedEvents(
  query: Query,
  ingest: Ingest,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const rows = await readDueParkedEvents(query, BATCH);
    const events = rows.flatMap((row): ReceivedEvent[] => {
      const event = readableEventOf(row);
      const { body, receivedAtMs } = row;
      return event === null ? [] : [{ ...event, body, receivedAtMs, source: 'log' }];
    });
    if (events.length > 0) await ingest(events);
    if (rows.length < BATCH) return;
  }
}
