/** The longest delay of each bucket in seconds; the last one holds all that is longer, too. */
export const DELAY_BOUNDS_SECONDS: readonly number[] = Array.from(
  { length: 48 },
  (_, bucket) => 0.25 * 2 ** (bucket / 2),
);

/** The bucket of what has no delay: nothing tells when it was made, or Stripe did not deliver it. */
export const NO_DELAY = -1;

/**
 * The bucket of an event of the log, in SQL. Stripe tells when it made an event in whole seconds.
 * A key that begins with zeros has no `created`: such an event counts as created when it comes.
 */
export const DELAY_BUCKET = `
  case
    when created_at is null
         or deliveries = 0
         or key < '00000001-0000-0000-0000-000000000000'
      then ${NO_DELAY}
    when received_at <= created_at + interval '0.25 s' then 0
    else least(${DELAY_BOUNDS_SECONDS.length - 1},
               -- A delay that is just a bound may come out a hair above it.
               ceil(2 * ln(extract(epoch from received_at - created_at)::double precision / 0.25)
                      / ln(2)
                    - 0.000001))
  end::smallint`;
