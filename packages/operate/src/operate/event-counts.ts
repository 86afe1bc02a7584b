// How many events arrived in the last day, for the chart of the overview: counted in the log when it is asked for.

import { LOGGED_OUTCOMES, type LoggedOutcome } from 'instep-engine/log';
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
      select (extract(epoch from starts_at) * 1000)::bigint as "startsAtMs",
             jsonb_build_object(${LOGGED_OUTCOMES.map(
               (outcome) => `
               '${outcome}', count(*) filter (where outcome = '${outcome}')`,
             ).join()}
             ) as counts
        from generate_series($1::timestamptz, $2::timestamptz, $3 * interval '1 millisecond') as starts_at
        left join instep.events
          on received_at >= starts_at
         and received_at < starts_at + $3 * interval '1 millisecond'
       group by starts_at
       order by starts_at`;

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
  const lastMs = Math.floor(now() / SLOT_MS) * SLOT_MS;
  const values = [new Date(lastMs - (SLOTS - 1) * SLOT_MS), new Date(lastMs), SLOT_MS];
  const statement = { name: 'count_events', text: COUNT_EVENTS, values };
  return await readInTime<Slot>(database, statement, TIMEOUT_MS);
}
