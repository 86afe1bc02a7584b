// Brings logged events through the ingest pipeline again. Actions of operators call it, and a link.

import {
  type EventRow,
  type Ingest,
  type IngestResult,
  type LogEvent,
  parseAgain,
  readableEventOf,
} from 'instep-engine/log';
import { type ApplicationId, canOthersSucceed, type Query } from 'instep-engine/postgres';

/** The result of processing a logged event again. */
export type Replayed = {
  readonly event: EventRow;
  /** `left out`: a snapshot, which describes the past; `failed`: see `error`. */
  readonly outcome: IngestResult['outcome'] | 'left out' | 'failed';
  readonly teamIds: readonly ApplicationId[];
  readonly error: Error | null;
};

type ReplayOptions = { ingest: Ingest; query: Query };

const BATCH = 200;

/**
 * Processes logged events again, in this order. It is idempotent: events that were decided do not
 * change. A parked event is decided when a team is now linked to its customer, and an unreadable event when
 * this version can read it.
 *
 * @throws the errors of the database, except those that one event causes
 */
export async function* replayEvents(
  events: AsyncIterable<EventRow> | readonly EventRow[],
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

/** The number of events by outcome. */
export type ReplayOutcomes = Readonly<Partial<Record<Replayed['outcome'], number>>>;

export async function countOutcomes(
  events: AsyncIterable<Replayed>,
  onReplayed?: (replayed: Replayed) => unknown,
): Promise<ReplayOutcomes> {
  const outcomes: Partial<Record<Replayed['outcome'], number>> = {};
  for await (const replayed of events) {
    outcomes[replayed.outcome] = (outcomes[replayed.outcome] ?? 0) + 1;
    await onReplayed?.(replayed);
  }
  return outcomes;
}

async function replayBatch(
  events: readonly EventRow[],
  options: ReplayOptions,
): Promise<Replayed[]> {
  const batch = events.map((event) => ({ event, received: receivedAgain(event) }));
  try {
    for (const { event, received } of batch) await makeRoomFor(received, event, options);
    const results = [...(await options.ingest(batch.flatMap(({ received }) => received ?? [])))];
    await deleteReadable(batch, options);
    return batch.map(({ event, received }) =>
      received === null ? leftOut(event) : decided(event, results.shift()),
    );
  } catch (error) {
    if (!canOthersSucceed(error)) throw error;
    const alone: Replayed[] = [];
    for (const { event, received } of batch) {
      alone.push(received === null ? leftOut(event) : await replayAlone(event, received, options));
    }
    return alone;
  }
}

async function deleteReadable(
  batch: readonly { readonly event: EventRow; readonly received: LogEvent | null }[],
  { query }: ReplayOptions,
): Promise<void> {
  for (const { event, received } of batch) {
    if (event.outcome !== 'unreadable' || received === null) continue;
    await deleteUnreadable(query, event, received.key);
  }
}

/** Used after a batch with a refused event. The log has the outcomes of the other events. */
async function replayAlone(
  event: EventRow,
  received: LogEvent,
  { ingest, query }: ReplayOptions,
): Promise<Replayed> {
  try {
    const [result] = await ingest([received]);
    await deleteReadable([{ event, received }], { ingest, query });
    return decided(event, result);
  } catch (error) {
    if (!canOthersSucceed(error)) throw error;
    return { ...leftOut(event), outcome: 'failed', error };
  }
}

/** An earlier event of its customer can have given it an outcome before it was its turn. */
function decided(event: EventRow, result: IngestResult | undefined): Replayed {
  if (result === undefined) throw new RangeError('an event has no result');
  const { outcome, firstOutcome = outcome, teamIds } = result;
  return {
    event,
    outcome: event.outcome === 'parked' ? firstOutcome : outcome,
    teamIds,
    error: null,
  };
}

function leftOut(event: EventRow): Replayed {
  const outcome = event.outcome === 'unreadable' ? 'unreadable' : 'left out';
  return { event, outcome, teamIds: [], error: null };
}

/** The event for the ingest pipeline; `null` for a snapshot or an unreadable event. */
function receivedAgain(event: EventRow): LogEvent | null {
  const again = event.outcome === 'unreadable' ? parseAgain(event) : readableEventOf(event);
  if (again === null || again.kind === 'unreadable') return null;
  const { body, receivedAtMs } = event;
  return { ...again, body, receivedAtMs, source: 'log' };
}

/**
 * An event without `created` has the same key when it can be read. Its old row gets another one, until it is deleted: the
 * event is decided at the end of the log, where its new row is.
 */
async function makeRoomFor(
  received: LogEvent | null,
  { position, outcome, key }: EventRow,
  { query }: ReplayOptions,
): Promise<void> {
  if (outcome !== 'unreadable' || received?.key !== key) return;
  await query({
    name: 'make_room_for_readable',
    // As the key of an event without a time.
    text: `
      update instep.events
         set key = ('00000000' || substring(gen_random_uuid()::text from 9))::uuid
       where position = $1
         and outcome = 'unreadable'`,
    values: [position],
  });
}

/** Deletes the row of an event that could not be read, once it is stored under the key that can be read now. */
async function deleteUnreadable(query: Query, { position }: EventRow, key: string): Promise<void> {
  await query({
    name: 'delete_unreadable',
    text: `
      with deleted as (
        delete from instep.events
         where position = $1
           and outcome = 'unreadable'
        returning deliveries
      )
      update instep.events as event
         set deliveries = event.deliveries + deleted.deliveries
        from deleted
       where event.key = $2`,
    values: [position, key],
  });
}
