// How background work calls Stripe: at a limited rate, page by page, again after a failure, and how recent an answer is.

import type { Json } from '../rule/json.ts';
import { DeadlineExceeded } from '../runtime/deadline.ts';
import { pause, retry, Stopped } from '../runtime/retry.ts';
import { idOf, type StripePage } from '../stripe/api.ts';
import { StripeApiFailed } from '../stripe/api-failure.ts';

export type ListPage = StripePage & {
  /** The next page begins after the object with this id; `null` on the last page. */
  readonly cursor: string | null;
};

type ReadPagesOptions = {
  list: (cursor: string | null, signal: AbortSignal) => Promise<StripePage>;
  /** The pages begin after this object; by default, at the beginning. */
  cursor?: string | null;
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
  const { list, cursor = null, signal } = options;

  async function fetchPage(after: string | null): Promise<ListPage> {
    const page = await retry(() => list(after, signal), { ...RETRY_POLICY, signal });
    return { ...page, cursor: page.hasMore ? cursorAfter(page.objects.at(-1)) : null };
  }

  let next: Promise<ListPage> | null = fetchPage(cursor);
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

/**
 * At most 10 calls in any second, a fraction of what Stripe allows. A tenth of a second apart, a call that took longer to
 * arrive than the tenth one after it would make eleven, so there are a few milliseconds more.
 */
const CALL_INTERVAL_MS = 110;

type Call = (from: never, signal?: AbortSignal) => Promise<unknown>;

/** Calls to Stripe at a limited rate. One instance at a time runs a job, so their number hardly grows with the instances. */
export function limitRate<Calls extends Readonly<Record<string, Call>>>(calls: Calls): Calls {
  let nextAtMs = 0;
  const limited = Object.entries(calls).map(([name, call]) => {
    const inTime: Call = async (from, signal) => {
      const atMs = Math.max(performance.now(), nextAtMs);
      nextAtMs = atMs + CALL_INTERVAL_MS;
      await pause(atMs - performance.now(), { signal });
      return await call(from, signal);
    };
    return [name, inTime] as const;
  });
  // Each has the type of the call that it delays.
  return Object.fromEntries(limited) as Calls;
}
