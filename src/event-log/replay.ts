import type { Ingest } from '../ingest/pipeline.ts';
import type { ReceivedEvent, Result } from '../ingest/received-event.ts';
import type { Query } from '../postgres/database.ts';
import { DatabaseBusy, DatabaseRefused } from '../postgres/errors.ts';
import type { EventRow } from '../queries/search-events.ts';
import { parseAgain, readableEventOf } from '../stripe/logged-event.ts';
import { readEventAt } from './search.ts';

/** What came of an event of the log that went through the one door again. */
export type Replayed = {
  readonly event: EventRow;
  /** `left out`: a look of our own, which says how things were; `failed`: see `error`. */
  readonly outcome: Result['outcome'] | 'left out' | 'failed';
  readonly teamIds: readonly number[];
  readonly error: Error | null;
};

export type ReplayOptions = {
  readonly ingest: Ingest;
  readonly query: Query;
};

const BATCH = 200;

/**
 * Brings events of the log through the one door again, in this order. By the rule it can do no
 * harm: what was decided stays decided. What was parked is decided if a team has its customer now,
 * and what was unreadable is read anew.
 *
 * @throws the errors of the database, but for those that one event brought about
 */
export async function* replayEvents(
  events: AsyncIterable<EventRow>,
  options: ReplayOptions,
): AsyncGenerator<Replayed> {
  let batch: EventRow[] = [];
  for await (const event of events) {
    batch.push(event);
    if (batch.length < BATCH) continue;
    yield* await replayBatch(batch, options);
    batch = [];
  }
  yield* await replayBatch(batch, options);
}

async function replayBatch(
  events: readonly EventRow[],
  options: ReplayOptions,
): Promise<Replayed[]> {
  const pairs = events.map((event) => ({ event, received: receivedAgain(event) }));
  try {
    const results = [...(await options.ingest(pairs.flatMap(({ received }) => received ?? [])))];
    return pairs.map(({ event, received }) => {
      const result = received === null ? undefined : results.shift();
      return replayed(event, result ?? { outcome: unread(event), teamIds: [] });
    });
  } catch (error) {
    if (!isOfOneEvent(error)) throw error;
    const alone: Replayed[] = [];
    for (const event of events) alone.push(await replayAlone(event, options));
    return alone;
  }
}

/** After a batch of which one was refused: others are done already, and the log says how. */
async function replayAlone(event: EventRow, { ingest, query }: ReplayOptions): Promise<Replayed> {
  const received = receivedAgain(event);
  if (received === null) return replayed(event, { outcome: unread(event), teamIds: [] });
  try {
    const [result] = await ingest([received]);
    if (result === undefined) throw new RangeError('the door gave no result');
    const outcome = (await readEventAt(query, event.position))?.outcome ?? event.outcome;
    return replayed(event, outcome === event.outcome ? result : { ...result, outcome });
  } catch (error) {
    if (!isOfOneEvent(error)) throw error;
    return { ...replayed(event, { outcome: 'failed', teamIds: [] }), error };
  }
}

/** As it goes through the door; `null` for what does not. */
function receivedAgain(event: EventRow): ReceivedEvent | null {
  const again = event.outcome === 'unreadable' ? parseAgain(event) : readableEventOf(event);
  if (again === null || again.kind === 'unreadable') return null;
  const { body, receivedAtMs } = event;
  return { ...again, body, receivedAtMs, source: 'log' };
}

function unread({ outcome }: EventRow): Replayed['outcome'] {
  return outcome === 'unreadable' ? 'unreadable' : 'left out';
}

function replayed(event: EventRow, result: Pick<Replayed, 'outcome' | 'teamIds'>): Replayed {
  return { event, ...result, error: null };
}

function isOfOneEvent(error: unknown): error is Error {
  return error instanceof DatabaseRefused || error instanceof DatabaseBusy;
}
