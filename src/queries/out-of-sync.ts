import type { Query } from '../postgres/database.ts';

/** What is not done, as cheaply as it can be told: it is read again and again. */
export type OutOfSync = {
  /** No more than `MAX_PARKED` are counted. */
  readonly parkedEvents: number;
  /** Subscriptions of which nothing has told for ten minutes what came last in a second. */
  readonly ties: number;
  readonly namelessProducts: number;
  /** When Stripe last delivered an event, in milliseconds since 1970; one of the newest thousand. */
  readonly lastDeliveredMs: number | null;
};

/** More parked events than these are not counted. */
export const MAX_PARKED = 10_000;

export async function readOutOfSync(query: Query): Promise<OutOfSync> {
  const [row] = await query<OutOfSync>(
    // In order, so that no plan goes through the log for what the index of the parked events has.
    `select (
              select count(*)
                from (
                       select
                         from instep.events
                        where outcome = 'parked'
                        order by customer_id
                        limit $1
                     ) as parked
            ) as "parkedEvents",
            (
              select count(*)
                from instep.subscriptions
               where is_order_ambiguous
                 and created_at < now() - interval '10 minutes'
            ) as ties,
            (
              select count(*)
                from instep.products
               where name is null
            ) as "namelessProducts",
            (
              select (extract(epoch from max(received_at)) * 1000)::bigint
                from (
                       select received_at, deliveries
                         from instep.events
                        order by position desc
                        limit 1000
                     ) as newest
               where deliveries > 0
            ) as "lastDeliveredMs"`,
    [MAX_PARKED],
  );
  if (row === undefined) throw new RangeError('a statement without a table has one row');
  return row;
}
