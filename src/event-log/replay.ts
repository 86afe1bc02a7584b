import type { Ingest } from '../ingest/pipeline.ts';
import type { ReceivedEvent, Result } from '../ingest/received-event.ts';
import { DatabaseBusy, DatabaseRefused } from '../postgres/errors.ts';
import type { EventRow } from '../queries/search-events.ts';
import { parseAgain, readableEventOf } from '../stripe/logged-event.ts';

/** The result of processing a logged event again. */
export type Replayed = {
  readonly event: EventRow;
  /** `left out`: a snapshot, which says how things were; `failed`: see `error`. */
  readonly outcome: Result['outcome'] | 'left out' | 'failed';
  readonly teamIds: readonly number[];
  readonly error: Error | null;
};

const BATCH = 200;

/**
 * Processes logged events again, in this order. It is idempotent: events that were decided do not
 * change. A parked event is decided when a team has its customer now, and an unreadable event when
 * this version can read it.
 *
 * @throws the errors of the database, except those that one event causes
 */
export async function* replayEvents(
  events: AsyncIterable<EventRow>,
  ingest: Ingest,
): AsyncGenerator<Replayed> {
  const replayAll = (batch: readonly EventRow[]) =>
    Promise.all(batch.map((event) => replay(event, ingest)));
  let batch: EventRow[] = [];
  for await (const event of events) {
    batch.push(event);
    if (batch.length < BATCH) continue;
    yield* await replayAll(batch);
    batch = [];
  }
  yield* await replayAll(batch);
}

async function replay(event: EventRow, ingest: Ingest): Promise<Replayed> {
  const done = { event, teamIds: [], error: null };
  const received = receivedAgain(event);
  if (received === null) {
    return { ...done, outcome: event.outcome === 'unreadable' ? 'unreadable' : 'left out' };
  }
  try {
    const [result] = await ingest([received]);
    if (result === undefined) throw new RangeError('the ingest pipeline returned no result');
    return { ...done, ...result };
  } catch (error) {
    const isOfOneEvent = error instanceof DatabaseRefused || error instanceof DatabaseBusy;
    if (!isOfOneEvent) throw error;
    return { ...done, outcome: 'failed', error };
  }
}

/** The event for the ingest pipeline; `null` for a snapshot or for what can't be read. */
function receivedAgain(event: EventRow): ReceivedEvent | null {
  const again = event.outcome === 'unreadable' ? parseAgain(event) : readableEventOf(event);
  if (again === null || again.kind === 'unreadable') return null;
  const { body, receivedAtMs } = event;
  return { ...again, body, receivedAtMs, source: 'log' };
}
