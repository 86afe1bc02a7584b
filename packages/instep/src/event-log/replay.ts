// Brings logged events through the ingest pipeline again. Actions of operators call it, and a link.

import type { ApplicationId } from '../core/application.ts';
import type { Ingest } from '../ingest/pipeline.ts';
import type { IngestResult, ReceivedEvent } from '../ingest/received-event.ts';
import type { Query } from '../postgres/database.ts';
import { canOthersSucceed } from '../postgres/errors.ts';
import { parseAgain, type ReadableEvent, readableEventOf } from '../stripe/parse-event.ts';
import { type EventRow, readEvents } from './event-rows.ts';
import { readEventAt } from './search.ts';

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

/** Replays a customer's oldest parked events, at most one batch. A running server replays the others. */
export async function* replayParkedEvents(
  customerId: string,
  options: ReplayOptions,
): AsyncGenerator<Replayed> {
  const filter = { customerId, outcome: 'parked' } as const;
  const range = { after: 0, upTo: Number.MAX_SAFE_INTEGER };
  const page = { order: 'oldest first', limit: BATCH } as const;
  yield* replayEvents(await readEvents(options.query, filter, range, page), options);
}

async function replayBatch(
  events: readonly EventRow[],
  options: ReplayOptions,
): Promise<Replayed[]> {
  const batch: { event: EventRow; received: ReceivedEvent | null }[] = [];
  for (const event of events) {
    batch.push({ event, received: await receivedAgain(event, options.query) });
  }
  try {
    const results = [...(await options.ingest(batch.flatMap(({ received }) => received ?? [])))];
    return batch.map(({ event, received }) => ({
      ...leftOut(event),
      ...(received === null ? null : results.shift()),
    }));
  } catch (error) {
    if (!canOthersSucceed(error)) throw error;
    const alone: Replayed[] = [];
    for (const { event, received } of batch) {
      alone.push(received === null ? leftOut(event) : await replayAlone(event, received, options));
    }
    return alone;
  }
}

/** Used after a batch with a refused event. The log has the outcomes of the other events. */
async function replayAlone(
  event: EventRow,
  received: ReceivedEvent,
  { ingest, query }: ReplayOptions,
): Promise<Replayed> {
  try {
    const [result] = await ingest([received]);
    const logged = (await readEventAt(query, event.position)) ?? event;
    const isDecidedNow = logged.outcome !== event.outcome;
    return { ...leftOut(event), ...result, ...(isDecidedNow && { outcome: logged.outcome }) };
  } catch (error) {
    if (!canOthersSucceed(error)) throw error;
    return { ...leftOut(event), outcome: 'failed', error };
  }
}

function leftOut(event: EventRow): Replayed {
  const outcome = event.outcome === 'unreadable' ? 'unreadable' : 'left out';
  return { event, outcome, teamIds: [], error: null };
}

/** The event for the ingest pipeline; `null` for a snapshot or an unreadable event. */
async function receivedAgain(event: EventRow, query: Query): Promise<ReceivedEvent | null> {
  const isUnreadable = event.outcome === 'unreadable';
  const again = isUnreadable ? parseAgain(event) : readableEventOf(event);
  if (again === null || again.kind === 'unreadable') return null;
  const { body, receivedAtMs, position } = event;
  if (isUnreadable) await parkReadable(query, position, again);
  return { ...again, body, receivedAtMs, source: 'log' };
}

/**
 * Gives an unreadable event the key, the customer and the time that can be read now, so that it is decided at its place
 * in the log, as a parked event is. It is deleted if it has arrived again meanwhile, and was readable.
 */
async function parkReadable(
  query: Query,
  position: number,
  { key, subscription }: ReadableEvent,
): Promise<void> {
  const { customerId, subscriptionId, createdSeconds } = subscription;
  await query({
    name: 'park_readable',
    text: `
      with copy as (
        select
          from instep.events
         where key = $2
           and position <> $1
      ), deleted as (
        delete from instep.events
         where position = $1
           and outcome = 'unreadable'
           and exists (select from copy)
      )
      update instep.events
         set key             = $2,
             customer_id     = $3,
             subscription_id = $4,
             created_at      = to_timestamp($5),
             outcome         = 'parked'
       where position = $1
         and outcome = 'unreadable'
         and not exists (select from copy)`,
    values: [position, key, customerId, subscriptionId, createdSeconds],
  });
}
