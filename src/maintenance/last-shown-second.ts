/** An answer of Stripe's API shows everything that happened until its request, less this margin. */
const MARGIN_SECONDS = 3;

/** The margin for our clock, where Stripe did not say what its own shows. */
const OUR_MARGIN_SECONDS = 60;

type Answer = {
  /** Stripe's clock when it answered, in whole seconds since 1970; `null` when it did not say. */
  readonly answeredSeconds: number | null;
  readonly tookMs: number;
};

/** The last second that an answer of Stripe's API is certain to show. `nowMs` by our clock. */
export function lastShownSecond({ answeredSeconds, tookMs }: Answer, nowMs: number): number {
  const answered = answeredSeconds ?? Math.floor(nowMs / 1_000) - OUR_MARGIN_SECONDS;
  return answered - Math.ceil(tookMs / 1_000) - MARGIN_SECONDS;
}
