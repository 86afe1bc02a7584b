import type { Json } from '../core/json.ts';
import { DeadlineExceeded } from '../runtime/deadline.ts';
import { retry, Stopped } from '../runtime/retry.ts';
import { idOf, type StripePage } from '../stripe/api.ts';
import { StripeApiFailed } from '../stripe/api-failure.ts';

export type ListPage = StripePage & {
  /** The next page begins after the object with this id; `null` on the last page. */
  readonly cursor: string | null;
  /** How long the call that fetched the page took. */
  readonly tookMs: number;
};

type ReadPagesOptions = {
  list: (cursor: string | null, signal: AbortSignal) => Promise<StripePage>;
  /** The pages begin after this object; `null`: at the beginning. */
  cursor: string | null;
  signal: AbortSignal;
};

const RETRY_POLICY = {
  maxCalls: 4,
  firstPauseMs: 500,
  longestPauseMs: 20_000,
  isRetryable(error: unknown) {
    if (error instanceof DeadlineExceeded) return true;
    return error instanceof StripeApiFailed && !error.isForbidden && !error.isRefused;
  },
  retryAfterMs: (error: unknown) => (error instanceof StripeApiFailed ? error.retryAfterMs : null),
};

/**
 * Reads the pages of a list. The next page is fetched while the caller works on the current one, so that only
 * Stripe limits the speed.
 *
 * @throws Stopped, DeadlineExceeded or StripeApiFailed
 */
export async function* readPages(options: ReadPagesOptions): AsyncGenerator<ListPage> {
  const { list, signal } = options;

  async function fetchPage(cursor: string | null): Promise<ListPage> {
    const { page, tookMs } = await retry(
      async () => {
        const startedAtMs = performance.now();
        const page = await list(cursor, signal);
        return { page, tookMs: performance.now() - startedAtMs };
      },
      { ...RETRY_POLICY, signal },
    );
    return { ...page, tookMs, cursor: page.hasMore ? cursorAfter(page.objects.at(-1)) : null };
  }

  let next: Promise<ListPage> | null = fetchPage(options.cursor);
  while (next !== null) {
    const page: ListPage = await next;
    if (signal.aborted) throw new Stopped();
    next = page.cursor === null ? null : fetchPage(page.cursor);
    // Its failure is thrown when the caller asks for the next page.
    next?.catch(() => undefined);
    yield page;
  }
}

function cursorAfter(object: Json | undefined): string {
  const id = idOf(object);
  if (id === null) throw new StripeApiFailed('returned a page whose last object has no id');
  return id;
}

/** A response of Stripe's API is certain to include everything up to this long before its request. */
const MARGIN_SECONDS = 3;

/** The margin where Stripe did not state its time, so our clock is used. */
const OUR_MARGIN_SECONDS = 60;

type Answer = {
  /** Stripe's time when it answered, in whole seconds since 1970; `null` when it did not state it. */
  answeredSeconds: number | null;
  tookMs: number;
};

/** The last second of Stripe's clock whose events a response of Stripe's API is certain to include. */
export function lastShownSecond({ answeredSeconds, tookMs }: Answer, nowMs: number): number {
  const answered = answeredSeconds ?? Math.floor(nowMs / 1_000) - OUR_MARGIN_SECONDS;
  return answered - Math.ceil(tookMs / 1_000) - MARGIN_SECONDS;
}
