import type { Ingest } from '../ingest/pipeline.ts';
import type { ReceivedEvent } from '../ingest/received-event.ts';
import type { Query } from '../postgres/database.ts';
import { readCustomersOfParkedEvents, readParkedEvents } from '../queries/parked-events.ts';
import { readableEventOf } from '../stripe/parse-logged-event.ts';
import type { Job } from './worker.ts';

const BATCH = 200;

/** The maximum share of one database connection's time that is spent looking for due events. */
const MAX_LOAD = 0.02;
const LONGEST_PAUSE_MS = 5_000;

/** Ingests parked events again once a team has their customer. */
export function createParkedEventsJob(
  query: Query,
  ingest: Ingest,
  maxLoad = MAX_LOAD,
): Job['run'] {
  let nextAtMs = 0;
  return async (signal) => {
    if (performance.now() < nextAtMs) return;
    while (!signal.aborted) {
      const startedAtMs = performance.now();
      const customerIds = await readCustomersOfParkedEvents(query, BATCH);
      const tookMs = performance.now() - startedAtMs;
      nextAtMs = performance.now() + Math.min(tookMs / maxLoad, LONGEST_PAUSE_MS);
      if (customerIds.length === 0) return;
      const rows = await readParkedEvents(query, customerIds, BATCH);
      const events = rows.flatMap((row): ReceivedEvent[] => {
        const event = readableEventOf(row);
        const { body, receivedAtMs } = row;
        return event === null ? [] : [{ ...event, body, receivedAtMs, source: 'log' }];
      });
      if (events.length === 0) return;
      await ingest(events);
    }
  };
}
