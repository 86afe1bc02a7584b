type Link = { readonly href: string; readonly text: string };

/** A link is left out if there is no such page. */
type PagerProps = {
  readonly first?: Link | false;
  readonly previous?: Link | false;
  readonly next?: Link | false;
};

/** Links between the pages of a list. */
export function Pager({ first, previous, next }: PagerProps) {
  if (!first && !previous && !next) return null;
  return (
    <nav class="pager pages" aria-label="Pages">
      {first && <a href={first.href}>{first.text}</a>}
      {previous && (
        <a href={previous.href} rel="prev">
          {previous.text}
        </a>
      )}
      {next && (
        <a href={next.href} rel="next">
          {next.text}
        </a>
      )}
    </nav>
  );
}

/**
 * Attributes that immediately replace the page's `#results` with those of the next page, so that a search
 * that has found nothing yet continues by itself.
 */
export function autoLoad(nextPageUrl: string) {
  return {
    'hx-get': nextPageUrl,
    'hx-trigger': 'load delay:50ms',
    'hx-select': '#results',
    'hx-target': '#results',
    'hx-swap': 'outerHTML',
  };
}
