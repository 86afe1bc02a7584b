// How many events arrived in the last day, for the chart of the overview: counted in the log when it is asked for.

import type { LoggedOutcome } from 'instep-engine/log';
import { readInTime } from '../runtime/read-in-time.ts';
import type { OperateContext } from './context.ts';

/** What happened in a quarter of an hour. */
export type Slot = {
  /** In milliseconds since 1970. */
  readonly startsAtMs: number;
  /** The number of events that arrived, by outcome. */
  readonly counts: Readonly<Record<LoggedOutcome, number>>;
};

export const SLOT_MS = 15 * 60_000;
const SLOTS = 96;

/** A chart is worth a second of one processor, which counts some millions of events. */
const TIMEOUT_MS = 1_000;

/** The index on the times has the outcomes, so that no page of the table is read. */
const COUNT_EVENTS = `
      select (date_part('epoch', starts_at) * 1000)::bigint as "startsAtMs",
             jsonb_object_agg(outcome, count) as counts
        from (
               select date_bin($1 * interval '1 millisecond', received_at, 'epoch') as starts_at,
                      outcome,
                      count(*) as count
                 from instep.events
                where received_at >= $2
                group by starts_at, outcome
             ) as counted
       group by starts_at`;

/**
 * How many events arrived in each quarter of an hour of the last day, by outcome: the oldest first, also those without
 * events. The last one has the present time. `null` if they are too many to be counted within a second.
 *
 * @example
 * ```ts
 * const slots = await countEvents(context);
 * console.log(slots?.length); // 96
 * ```
 */
export async function countEvents({ database, now }: OperateContext): Promise<Slot[] | null> {
  const firstMs = (Math.floor(now() / SLOT_MS) - SLOTS + 1) * SLOT_MS;
  const values = [SLOT_MS, new Date(firstMs)];
  const statement = { name: 'count_events', text: COUNT_EVENTS, values };
  const rows = await readInTime<Slot>(database, statement, TIMEOUT_MS);
  const none = { applied: 0, unchanged: 0, stale: 0, parked: 0, unreadable: 0 };
  const counted = new Map(rows?.map(({ startsAtMs, counts }) => [startsAtMs, counts]));
  return (
    rows &&
    Array.from({ length: SLOTS }, (_, index) => {
      const startsAtMs = firstMs + index * SLOT_MS;
      return { startsAtMs, counts: { ...none, ...counted.get(startsAtMs) } };
    })
  );
}
