// Brings logged events through the ingest pipeline again, for operators.

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

/** The number of events by outcome. */
export type ReplayOutcomes = Readonly<Partial<Record<Replayed['outcome'], number>>>;

type ReplayServices = { readonly ingest: Ingest; readonly query: Query };

/** How many are in the queue together. */
const AT_ONCE = 200;

/** Processes logged events again, as `replayEvent` does. */
export async function* replayEvents(
  events: AsyncIterable<EventRow> | readonly EventRow[],
  services: ReplayServices,
): AsyncGenerator<Replayed> {
  let replays: EventRow[] = [];
  const replayAll = () => Promise.all(replays.map((event) => replayEvent(event, services)));
  for await (const event of events) {
    replays.push(event);
    if (replays.length < AT_ONCE) continue;
    yield* await replayAll();
    replays = [];
  }
  yield* await replayAll();
}

/**
 * Processes a logged event again. An event that was decided does not change. A parked event is decided when a team is now
 * linked to its customer, and an unreadable event when this version can read it.
 *
 * @throws the errors of the database, except those that one event causes
 */
export async function replayEvent(
  event: EventRow,
  { ingest, query }: ReplayServices,
): Promise<Replayed> {
  const replayed = { event, teamIds: [], error: null };
  const isUnreadable = event.outcome === 'unreadable';
  const received = receivedAgain(event);
  if (received === null) return { ...replayed, outcome: isUnreadable ? 'unreadable' : 'left out' };
  try {
    if (isUnreadable && received.key === event.key) await makeRoom(query, event);
    const [result] = await ingest([received]);
    if (result === undefined) throw new RangeError('an event has no result');
    if (isUnreadable) await deleteUnreadable(query, event, received.key);
    // An earlier event of its customer can have given it an outcome before it was its turn.
    const { outcome, loggedOutcome, teamIds } = result;
    return { ...replayed, teamIds, outcome: event.outcome === 'parked' ? loggedOutcome : outcome };
  } catch (error) {
    if (!canOthersSucceed(error)) throw error;
    return { ...replayed, outcome: 'failed', error };
  }
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
async function makeRoom(query: Query, { position }: EventRow): Promise<void> {
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
