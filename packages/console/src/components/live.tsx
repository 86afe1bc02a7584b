import type { PropsWithChildren } from 'hono/jsx';
import { Time } from './text.tsx';

type LiveProps = PropsWithChildren<{
  readonly id: string;
  /** A page that has the part with the same id; `null`: the reader has turned updates off. */
  readonly url: string | null;
  readonly intervalSeconds: number;
  /** When the data was read. */
  readonly atMs: number;
}>;

/** A part that does not refresh itself is outdated after this time. */
const STILL_SECONDS = 60;

/**
 * A part of a page that refreshes itself and says when its data is from. A script marks it as
 * outdated when it is too old, which shows `WhenOutdated` instead of `WhenCurrent`.
 */
export function Live({ id, url, intervalSeconds, atMs, children }: LiveProps) {
  const refresh = {
    'hx-get': url,
    'hx-trigger': `every ${intervalSeconds}s, refresh`,
    'hx-select': `#${id}`,
    'hx-swap': 'outerHTML',
  };
  // Tolerates two missed refreshes.
  const maxAgeSeconds = url === null ? STILL_SECONDS : 2 * intervalSeconds + 2;
  return (
    <div id={id} data-max-age-seconds={maxAgeSeconds} {...(url === null ? {} : refresh)}>
      <p class="as-of">
        <WhenCurrent>
          Data from <Time ms={atMs} format="clock" />
        </WhenCurrent>
        <WhenOutdated>
          Showing data from <Time ms={atMs} format="clock" />.{' '}
          {url === null ? 'Updates are off.' : 'Retrying…'}
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
