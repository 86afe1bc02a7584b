// The figures of the event log from which issues follow, such as when something arrived last.
// operate/health.ts reads them for the overview, the doctor and the metrics.

import { onlyRow, type Query } from 'instep-engine/postgres';
import { type EventOrigin, originOfBody, SNAPSHOT_TYPE } from 'instep-engine/stripe';

/** Times are those of the newest 1,000 events, in milliseconds since 1970. */
export type Figures = {
  /** Products whose name was looked up without a result. */
  readonly unresolvedProducts: number;
  readonly lastReceivedMs: number | null;
  /** When Stripe last delivered an event. */
  readonly lastDeliveredMs: number | null;
  /**
   * The time since which Stripe has listed events but delivered none; `null` if the newest one was delivered.
   */
  readonly undeliveredSinceMs: number | null;
  /** Whether commits wait for a standby, and none is connected. */
  readonly isStandbyMissing: boolean;
};

const READ_HEALTH = `
      with newest as materialized (
        select position, received_at, deliveries
          from (
                 select *
                   from instep.events
                  order by position desc
                  limit 1000
               ) as event
         where type <> $1
      ), nameless as (
        select count(looked_up_at) as "unresolvedProducts"
          from instep.products
         where name is null
      ), arrival as (
        select max(received_at)                               as last_received,
               max(received_at) filter (where deliveries > 0) as last_delivered,
               min(received_at) filter (
                 where position > (
                   select coalesce(max(position), 0) from newest where deliveries > 0
                 )
               )                                              as undelivered_since
          from newest
      ), standbys as (
        select current_setting('synchronous_standby_names') <> ''
                 and current_setting('synchronous_commit') <> 'local'
                 and count(*) = 0 as "isStandbyMissing"
          from pg_stat_replication
         -- A role without pg_read_all_stats sees the rows, but no states.
         where sync_state in ('sync', 'quorum')
            or sync_state is null
      )
      select "unresolvedProducts",
             (extract(epoch from last_received) * 1000)::bigint     as "lastReceivedMs",
             (extract(epoch from last_delivered) * 1000)::bigint    as "lastDeliveredMs",
             (extract(epoch from undelivered_since) * 1000)::bigint as "undeliveredSinceMs",
             "isStandbyMissing"
        from nameless, arrival, standbys`;

/** Cheap enough for every scrape: it reads indexes of few rows, and the end of the log. */
export async function readFigures(query: Query): Promise<Figures> {
  return await onlyRow<Figures>(query, {
    name: 'read_health',
    text: READ_HEALTH,
    values: [SNAPSHOT_TYPE],
  });
}

/** The origins of the last 20 events that Stripe delivered, the newest first. */
export async function readLastOrigins(query: Query): Promise<EventOrigin[]> {
  const rows = await query<{ body: Uint8Array }>({
    name: 'read_last_origins',
    text: `
      select body
        from (
               select position, body, deliveries
                 from instep.events
                order by position desc
                limit 1000
             ) as newest
       where deliveries > 0
       order by position desc
       limit 20`,
  });
  return rows.map(({ body }) => originOfBody(body));
}
