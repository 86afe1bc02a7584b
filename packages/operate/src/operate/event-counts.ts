// How many events arrived in the last time slots, for the chart of the overview: counted in the log when it is asked for.

import type { LoggedOutcome } from 'instep-engine/log';
import { readInTime } from '../runtime/read-in-time.ts';
import type { OperateContext } from './context.ts';

/** What happened in a time slot. */
export type Slot = {
  /** In milliseconds since 1970. */
  readonly startsAtMs: number;
  /** The number of events that arrived, by outcome. */
  readonly counts: Readonly<Record<LoggedOutcome, number>>;
};

export type EventCountsRequest = { readonly slotSeconds: number; readonly slots: number };

type CountRow = {
  readonly startsAtMs: number;
  readonly outcome: LoggedOutcome;
  readonly count: number;
};

/** A chart is worth a second of one processor, which counts some millions of events. */
const TIMEOUT_MS = 1_000;

/**
 * How many events arrived in each of the last time slots, by outcome: all slots, the oldest first, also those without
 * events. The last one has the present time. `null` if they are too many to be counted within a second.
 *
 * @example
 * ```ts
 * const slots = await countEvents(context, { slotSeconds: 60, slots: 60 });
 * console.log(slots?.length); // 60
 * ```
 */
export async function countEvents(
  { database, now }: OperateContext,
  request: EventCountsRequest,
): Promise<Slot[] | null> {
  const { slotSeconds, slots } = request;
  const slotMs = slotSeconds * 1_000;
  const firstMs = (Math.floor(now() / slotMs) - slots + 1) * slotMs;
  const statement = {
    name: 'count_events',
    // The index on the times has the outcomes, so that no page of the table is read.
    text: `
      select (date_part('epoch', starts_at) * 1000)::bigint as "startsAtMs", outcome, count
        from (
               select date_bin($1 * interval '1 second', received_at, 'epoch') as starts_at,
                      outcome,
                      count(*) as count
                 from instep.events
                where received_at >= $2
                group by starts_at, outcome
             ) as counted`,
    values: [slotSeconds, new Date(firstMs)],
  };
  const rows = await readInTime<CountRow>(database, statement, TIMEOUT_MS);
  return rows && slotsOf(rows, firstMs, request);
}

function slotsOf(
  rows: readonly CountRow[],
  firstMs: number,
  { slotSeconds, slots }: EventCountsRequest,
): Slot[] {
  const bySlot = new Map<number, CountRow[]>();
  for (const row of rows) bySlot.set(row.startsAtMs, [...(bySlot.get(row.startsAtMs) ?? []), row]);
  return Array.from({ length: slots }, (_, index) => {
    const startsAtMs = firstMs + index * slotSeconds * 1_000;
    const counts = { applied: 0, unchanged: 0, stale: 0, parked: 0, unreadable: 0 };
    for (const { outcome, count } of bySlot.get(startsAtMs) ?? []) counts[outcome] = count;
    return { startsAtMs, counts };
  });
}
