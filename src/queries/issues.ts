import type { Query } from '../postgres/database.ts';

/** What only a person can repair, and what the newest thousand events tell of how they come. */
export type Issues = {
  /** Whether an event has been parked since before the time that was asked for. */
  readonly isParkedLong: boolean;
  /** Whether Stripe was asked for the name of a product, and told none. */
  readonly isNameUntold: boolean;
  readonly unreadableEvents: number;
  /** When the last event came, in milliseconds since 1970; `null`: none ever came. */
  readonly lastReceivedMs: number | null;
  /** Since when Stripe lists events and delivers none; `null` while the newest one was delivered. */
  readonly undeliveredSinceMs: number | null;
};

/** What is asked for: parked before this time, and events that are of no type of our own. */
export type IssuesRequest = { readonly parkedBeforeMs: number; readonly lookType: string };

export async function readIssues(
  query: Query,
  { parkedBeforeMs, lookType }: IssuesRequest,
): Promise<Issues> {
  const [row] = await query<Issues>(
    // In order, so that no plan goes through the log for what the index of the parked events has.
    `with newest as materialized (
       select position, outcome, received_at, deliveries
         from (
                select *
                  from instep.events
                 order by position desc
                 limit 1000
              ) as event
        where type <> $2
     )
     select exists (
              select
                from (
                       select received_at
                         from instep.events
                        where outcome = 'parked'
                        order by customer_id
                        limit 10000
                     ) as parked
               where received_at < $1
            ) as "isParkedLong",
            exists (
              select
                from instep.products
               where name is null
                 and looked_up_at is not null
            ) as "isNameUntold",
            counted.*
       from (
              select count(*) filter (where outcome = 'unreadable') as "unreadableEvents",
                     (extract(epoch from max(received_at)) * 1000)::bigint as "lastReceivedMs",
                     (extract(epoch from min(received_at) filter (
                        where position > (
                                select coalesce(max(position), 0)
                                  from newest
                                 where deliveries > 0
                              )
                      )) * 1000)::bigint as "undeliveredSinceMs"
                from newest
            ) as counted`,
    [new Date(parkedBeforeMs), lookType],
  );
  if (row === undefined) throw new RangeError('counts have one row');
  return row;
}
