import { readCustomersOfParkedEvents, readParkedEvents } from '../event-log/parked-events.ts';
import type { Ingest } from '../ingest/pipeline.ts';
import type { ReceivedEvent } from '../ingest/received-event.ts';
import type { Query } from '../postgres/database.ts';
import { isOfOneEvent } from '../postgres/errors.ts';
import type { Logger } from '../runtime/logging.ts';
import { readableEventOf } from '../stripe/parse-event.ts';
import type { Job } from './worker.ts';
import { RestingCustomers } from './worker.ts';

type ParkedEventsOptions = {
  readonly query: Query;
  readonly ingest: Ingest;
  readonly logger: Logger;
  /** The maximum share of one database connection's time that is spent looking for due events. */
  readonly maxLoad?: number;
  /** The pause for a customer whose event the database refuses, or whose team another transaction has locked. */
  readonly restMs?: number | undefined;
};

const BATCH = 200;

const MAX_LOAD = 0.002;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Ingests parked events again once a team has their customer. Customers whose events fail rest, so that they
 * delay no others.
 */
export function createParkedEventsJob(options: ParkedEventsOptions): Job['run'] {
  const { query, ingest, logger, maxLoad = MAX_LOAD } = options;
  const resting = new RestingCustomers(options.restMs);
  let nextAtMs = 0;

  /** Returns whether an event was decided. */
  async function ingestOf(customerId: string, events: readonly ReceivedEvent[]): Promise<boolean> {
    try {
      return (await ingest(events)).some(({ outcome }) => outcome !== 'parked');
    } catch (err) {
      if (!isOfOneEvent(err)) throw err;
      logger.warn({ customerId, err }, 'parked events not decided');
      resting.add(customerId);
      return false;
    }
  }

  return async (signal) => {
    if (performance.now() < nextAtMs) return;
    while (!signal.aborted) {
      const startedAtMs = performance.now();
      const due = { limit: BATCH, exceptIds: resting.ids() };
      const customerIds = await readCustomersOfParkedEvents(query, due);
      const tookMs = performance.now() - startedAtMs;
      nextAtMs = performance.now() + Math.min(tookMs / maxLoad, LONGEST_PAUSE_MS);
      if (customerIds.length === 0) return;
      const eventsOf = new Map<string, ReceivedEvent[]>();
      for (const row of await readParkedEvents(query, customerIds, BATCH)) {
        const event = readableEventOf(row);
        if (event === null) continue;
        const { customerId } = event.subscription;
        const { body, receivedAtMs } = row;
        const events = eventsOf.get(customerId) ?? [];
        eventsOf.set(customerId, [...events, { ...event, body, receivedAtMs, source: 'log' }]);
      }
      const areDecided = await Promise.all(
        [...eventsOf].map(([id, events]) => ingestOf(id, events)),
      );
      // Otherwise the same events would be read again.
      if (!areDecided.includes(true)) return;
    }
  };
}
