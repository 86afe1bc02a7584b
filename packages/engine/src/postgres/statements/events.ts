// The event log, `instep.events`, as processing needs it; people read it through event-log/.

import type { KeyRange } from '../../rule/event-key-layout.ts';
import type { Query } from '../database.ts';
import { columnArrays } from '../statement.ts';

/** The keys and ids of the events with keys in these ranges that are in the log. */
export async function readEventIds(
  query: Query,
  ranges: readonly KeyRange[],
): Promise<{ key: string; eventId: string | null }[]> {
  return await query<{ key: string; eventId: string | null }>({
    name: 'read_event_ids',
    text: `
      select key, event_id as "eventId"
        from unnest($1::uuid[], $2::uuid[]) as range (low, high)
       cross join lateral (
               select key, event_id
                 from instep.events
                where key between low and high
                order by key
                limit 1000
             ) as event`,
    values: columnArrays(ranges, 'low', 'high'),
  });
}
