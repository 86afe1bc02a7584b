/** Each bucket holds what is shorter than its bound; the last one holds all that is longer, too. */
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
    -- Neither \`extract\` nor a logarithm: both take several times as long for each event.
    else width_bucket(date_part('epoch', received_at - created_at),
                      '{${DELAY_BOUNDS_SECONDS.slice(0, -1).join(', ')}}'::double precision[])
  end::smallint`;
