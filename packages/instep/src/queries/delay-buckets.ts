import { FIRST_DATED_KEY } from '../core/event-key-layout.ts';

/** Each bucket holds delays below its bound. The last one also holds all longer delays. */
export const DELAY_BOUNDS_SECONDS: readonly number[] = Array.from(
  { length: 48 },
  (_, bucket) => 0.25 * 2 ** (bucket / 2),
);

/** The bucket of events without a delay: Stripe did not deliver them, or their time is unknown. */
export const NO_DELAY = -1;

/**
 * The bucket of a logged event, in SQL. An event without a time of its own has no delay: its
 * `created_at` is the time of arrival.
 */
export const DELAY_BUCKET = `
  case
    when created_at is null or deliveries = 0 or key < '${FIRST_DATED_KEY}' then ${NO_DELAY}
    -- Neither \`extract\` nor a logarithm: both take several times as long.
    else width_bucket(date_part('epoch', received_at - created_at),
                      '{${DELAY_BOUNDS_SECONDS.slice(0, -1).join(', ')}}'::double precision[])
  end::smallint`;
