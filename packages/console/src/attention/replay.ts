import {
  counted,
  type Replayed,
  readEventAt,
  readEvents,
  replayEvents,
} from 'instep/operate/inside';
import { type ActionResult, type ActionServices, done, failed } from './action.ts';

/**
 * The maximum number of a customer's parked events that are replayed at once. A running server replays the
 * others.
 */
const MAX_REPLAYED = 200;

/** Replays the parked events of a customer. */
export async function replayParked(
  customerId: string,
  { database: { query }, ingest }: ActionServices,
): Promise<ActionResult> {
  const filter = { customerId, outcome: 'parked' } as const;
  const range = { after: 0, upTo: Number.MAX_SAFE_INTEGER };
  const first = { order: 'oldest first', limit: MAX_REPLAYED } as const;
  const events = await readEvents(query, filter, range, first);
  const counts = new Map<Replayed['outcome'], number>();
  for await (const { outcome } of replayEvents(events, { ingest, query })) {
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }
  if (counts.size === 0) return done('No event was parked.');
  const outcomes = [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(', ');
  const isDone = ![...counts.keys()].some((outcome) => UNRESOLVED.has(outcome));
  return { isDone, result: `${counted(events.length, 'event')} replayed: ${outcomes}.` };
}

/** Replays the event at a position. */
export async function replayEvent(
  position: number,
  { database: { query }, ingest }: ActionServices,
): Promise<ActionResult> {
  const event = await readEventAt(query, position);
  if (event === null) return failed('The event is no longer in the log.');
  for await (const { outcome } of replayEvents([event], { ingest, query })) {
    return { isDone: !UNRESOLVED.has(outcome), result: RESULTS[outcome] };
  }
  throw new RangeError('an event has one result');
}

/** A replay with this outcome has changed nothing that needs attention. */
const UNRESOLVED: ReadonlySet<Replayed['outcome']> = new Set(['parked', 'unreadable', 'failed']);

/** The result of a replayed event. */
const RESULTS: Readonly<Record<Replayed['outcome'], string>> = {
  applied: 'The event is now applied.',
  stale: 'The event is now stale: a newer one was already applied, so it has no effect.',
  unchanged: 'The event is now decided and has no effect.',
  parked: 'The event is still parked: no team is linked to its customer.',
  unreadable: "This version of Instep can't read the event either. Nothing was changed.",
  duplicate: 'The event was already decided. Nothing was changed.',
  'left out': "This is a snapshot of Stripe's data at that time. Nothing was changed.",
  failed: 'The database refused the event. Nothing was changed. The server log has the reason.',
};
