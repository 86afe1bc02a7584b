import type { Query } from '../postgres/database.ts';

/** What the log tells of the last events, and of all that is not done. */
export type LogState = {
  readonly parkedEvents: number;
  readonly parkedCustomers: number;
  /** When the oldest parked event came, in milliseconds since 1970. */
  readonly parkedSinceMs: number | null;
  /** Subscriptions of which nothing has told for ten minutes what came last in a second. */
  readonly ties: number;
  readonly namelessProducts: number;
  /** Of the newest thousand events. */
  readonly unreadableOfNewest: number;
  /** When Stripe last delivered an event, in milliseconds since 1970. */
  readonly lastDeliveredMs: number | null;
  /** The newest `created` of the newest thousand events, in seconds since 1970. */
  readonly newestCreatedSeconds: number | null;
};

export async function readLogState(query: Query): Promise<LogState> {
  const [row] = await query<LogState>(
    // Nothing here reads more of the log than the parked events and the newest thousand.
    `with newest as materialized (
       select type, outcome, created_at, received_at, deliveries
         from instep.events
        order by position desc
        limit 1000
     )
     select parked.*,
            ties.count as ties,
            nameless.count as "namelessProducts",
            last.*
       from (
              select count(*) as "parkedEvents",
                     count(distinct customer_id) as "parkedCustomers",
                     (extract(epoch from min(received_at)) * 1000)::bigint as "parkedSinceMs"
                from instep.events
               where outcome = 'parked'
            ) as parked
      cross join (
              select count(*)
                from instep.subscriptions
               where is_order_ambiguous
                 and created_at < now() - interval '10 minutes'
            ) as ties
      cross join (
              select count(*)
                from instep.products
               where name is null
            ) as nameless
      cross join (
              select count(*) filter (where outcome = 'unreadable') as "unreadableOfNewest",
                     (extract(epoch from max(received_at) filter (where deliveries > 0)) * 1000)::bigint
                       as "lastDeliveredMs",
                     extract(epoch from max(created_at))::bigint as "newestCreatedSeconds"
                from newest
            ) as last`,
  );
  if (row === undefined) throw new RangeError('counts have one row');
  return row;
}

/** The bodies of the last events that Stripe delivered, the newest first. */
export async function readLastBodies(query: Query, limit: number): Promise<Uint8Array[]> {
  const rows = await query<{ body: Buffer }>(
    `select body
       from (
              select position, body, deliveries
                from instep.events
               order by position desc
               limit 1000
            ) as newest
      where deliveries > 0
      order by position desc
      limit $1`,
    [limit],
  );
  return rows.map(({ body }) => body);
}
