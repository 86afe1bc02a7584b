/** A response of Stripe's API is certain to include everything up to this long before its request. */
const MARGIN_SECONDS = 3;

/** The margin where Stripe did not state its time, so our clock is used. */
const OUR_MARGIN_SECONDS = 60;

type Answer = {
  /** Stripe's time when it answered, in whole seconds since 1970; `null` when it did not state it. */
  readonly answeredSeconds: number | null;
  readonly tookMs: number;
};

/** The last second of Stripe's clock whose events a response of Stripe's API is certain to include. */
export function lastShownSecond({ answeredSeconds, tookMs }: Answer, nowMs: number): number {
  const answered = answeredSeconds ?? Math.floor(nowMs / 1_000) - OUR_MARGIN_SECONDS;
  return answered - Math.ceil(tookMs / 1_000) - MARGIN_SECONDS;
}
