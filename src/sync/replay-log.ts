import { DatabaseBusy, DatabaseRefused } from '../database/errors.ts';
import type { EventRow } from '../store/search-events.ts';
import { readAnew, readableEventOf } from '../stripe/logged-event.ts';
import type { Accept } from './door.ts';
import type { ReceivedEvent, Result } from './received-event.ts';

/** What came of an event of the log that went through the one door again. */
export type Replayed = {
  readonly event: EventRow;
  /** `left out`: a look of our own, which says how things were; `failed`: see `error`. */
  readonly outcome: Result['outcome'] | 'left out' | 'failed';
  readonly teamIds: readonly number[];
  readonly error: Error | null;
};

const BATCH = 200;

/**
 * Brings events of the log through the one door again, in this order. By the rule it can do no
 * harm: what was decided stays decided. What was parked is decided if a team has its customer now,
 * and what was unreadable is read anew.
 *
 * @throws the errors of the database that concern more than one event
 */
export async function* replayEvents(
  events: AsyncIterable<EventRow>,
  accept: Accept,
): AsyncGenerator<Replayed> {
  let batch: EventRow[] = [];
  for await (const event of events) {
    batch.push(event);
    if (batch.length < BATCH) continue;
    yield* await replayBatch(batch, accept);
    batch = [];
  }
  yield* await replayBatch(batch, accept);
}

/** One by one for the door, which makes batches itself: one that is refused stops no other. */
async function replayBatch(events: readonly EventRow[], accept: Accept): Promise<Replayed[]> {
  return await Promise.all(events.map((event) => replayOne(event, accept)));
}

async function replayOne(event: EventRow, accept: Accept): Promise<Replayed> {
  const nothing = { event, teamIds: [], error: null };
  const again = event.outcome === 'unreadable' ? readAnew(event) : readableEventOf(event);
  if (again === null) return { ...nothing, outcome: 'left out' };
  if (again.kind === 'unreadable') return { ...nothing, outcome: 'unreadable' };
  const { body, receivedAtMs } = event;
  const received: ReceivedEvent = { ...again, body, receivedAtMs, source: 'log' };
  try {
    const [result] = await accept([received]);
    if (result === undefined) throw new RangeError('the door gave no result');
    return { ...nothing, ...result };
  } catch (error) {
    if (!(error instanceof DatabaseRefused || error instanceof DatabaseBusy)) throw error;
    return { ...nothing, outcome: 'failed', error };
  }
}
