/** How long before a request its answer from Stripe's API is certain to show everything. */
const MARGIN_SECONDS = 3;

/** The margin for our clock, where Stripe did not say what its own shows. */
const OUR_MARGIN_SECONDS = 60;

type Answer = {
  /** Stripe's clock when it answered, in whole seconds since 1970; `null` when it did not say. */
  readonly answeredSeconds: number | null;
  readonly tookMs: number;
};

/** The last second of Stripe's clock whose events an answer of Stripe's API is certain to show. */
export function lastShownSecond({ answeredSeconds, tookMs }: Answer, nowMs: number): number {
  const answered = answeredSeconds ?? Math.floor(nowMs / 1_000) - OUR_MARGIN_SECONDS;
  return answered - Math.ceil(tookMs / 1_000) - MARGIN_SECONDS;
}
