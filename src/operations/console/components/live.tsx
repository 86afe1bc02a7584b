import type { PropsWithChildren } from 'hono/jsx';
import { Time } from './text.tsx';

export type LiveProps = PropsWithChildren<{
  readonly id: string;
  /** A page with the part of the same id; `null`: the part is not refreshed. */
  readonly url: string | null;
  readonly intervalSeconds: number;
  /** When the data was read. */
  readonly atMs: number;
}>;

/**
 * A part of a page that refreshes itself and says when its data is from. A script marks it as
 * outdated when it can't be refreshed, which shows `WhenOutdated` instead of `WhenCurrent`.
 */
export function Live({ id, url, intervalSeconds, atMs, children }: LiveProps) {
  const refresh = {
    'hx-get': url,
    'hx-trigger': `every ${intervalSeconds}s, refresh`,
    'hx-select': `#${id}`,
    'hx-swap': 'outerHTML',
    'data-interval-seconds': intervalSeconds,
  };
  return (
    <div id={id} {...(url === null ? {} : refresh)}>
      <p class="as-of">
        <WhenCurrent>
          Data from <Time ms={atMs} withoutDate />
        </WhenCurrent>
        <WhenOutdated>
          Showing data from <Time ms={atMs} withoutDate />. Retrying…
        </WhenOutdated>
      </p>
      {children}
    </div>
  );
}

export function WhenCurrent({ children }: PropsWithChildren) {
  return <span class="when-current">{children}</span>;
}

export function WhenOutdated({ children }: PropsWithChildren) {
  return <span class="when-outdated">{children}</span>;
}
