import type { Json } from '../core/same-second-order.ts';
import { idOf, type StripePage } from '../stripe/api.ts';
import { StripeApiFailed } from '../stripe/api-call.ts';
import { Stopped, withRetries } from '../stripe/retry.ts';

export type ListPage = StripePage & {
  /** Where the next page begins. */
  readonly cursor: string | null;
  /** How long the call took that brought it. */
  readonly tookMs: number;
};

export type ReadPagesOptions = {
  readonly list: (cursor: string | null) => Promise<StripePage>;
  /** After which object to begin; `null`: at the beginning. */
  readonly cursor: string | null;
  readonly signal: AbortSignal;
  /** In milliseconds since 1970. */
  readonly now: () => number;
};

/**
 * The pages of a list, one after the other. The next one is asked for while the last one is worked
 * on, so that whoever works on them waits for Stripe only.
 *
 * @throws Stopped, or what Stripe's API failed with in spite of patience
 */
export async function* readPages(options: ReadPagesOptions): AsyncGenerator<ListPage> {
  const { list, signal, now } = options;

  async function ask(cursor: string | null): Promise<ListPage> {
    const { page, tookMs } = await withRetries(async () => {
      const startedAtMs = now();
      const page = await list(cursor);
      return { page, tookMs: now() - startedAtMs };
    }, signal);
    return { ...page, tookMs, cursor: page.hasMore ? cursorAfter(page.objects.at(-1)) : null };
  }

  let next: Promise<ListPage> | null = ask(options.cursor);
  while (next !== null) {
    const page: ListPage = await next;
    if (signal.aborted) throw new Stopped('stopped between two pages');
    next = page.cursor === null ? null : ask(page.cursor);
    // Whoever works on this page hears of the next one's failure afterwards.
    next?.catch(() => undefined);
    yield page;
  }
}

function cursorAfter(object: Json | undefined): string {
  const id = idOf(object);
  if (id === null) throw new StripeApiFailed('a page without ids cannot be read on from');
  return id;
}
