import type { Child, PropsWithChildren } from 'hono/jsx';
import type { PageEnds, PageStart } from 'instep-operate';

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

/** Where a page of a list starts, by its address; `null`: at the beginning. */
export function readStart<Key>(read: (parameter: string) => Key | null): PageStart<Key> | null {
  for (const side of ['after', 'before'] as const) {
    const key = read(side);
    if (key !== null) return { side, key };
  }
  return null;
}

/** Downloads a whole list as a file: `url` has its filters. */
export function ExportLink({ url }: { readonly url: string }) {
  return (
    <p>
      <a href={`${url}${url.includes('?') ? '&' : '?'}format=csv`} download>
        Export all as CSV
      </a>
    </p>
  );
}

type ListProps<Key> = PropsWithChildren<
  PageEnds<Key> & {
    readonly start: PageStart<Key> | null;
    readonly isEmpty: boolean;
    /** What stands in the place of an empty list. */
    readonly empty: Child;
    /** The address of a page; without a start, of the first one. */
    readonly urlOf: (start: Readonly<Partial<Record<PageStart<Key>['side'], Key>>>) => string;
    /** The name of the first page. */
    readonly first: string;
    /** What a search has covered that ran out of time. */
    readonly searched?: Child;
  }
>;

/** A page of a list, with its export, how far a search got, and links to other pages. */
export function List<Key extends number | string>(props: ListProps<Key>) {
  const { next, previous, searchedTo, start, isEmpty, empty, urlOf, first, searched } = props;
  return (
    <div id="results">
      {!isEmpty && <ExportLink url={urlOf({})} />}
      {!isEmpty && props.children}
      {isEmpty && searchedTo === null && empty}
      {searchedTo !== null && (
        <p
          class="quiet"
          {...(isEmpty && autoLoad(urlOf({ [start?.side ?? 'after']: searchedTo })))}
        >
          {searched}
        </p>
      )}
      <Pager
        first={previous !== null && { href: urlOf({}), text: first }}
        previous={previous !== null && { href: urlOf({ before: previous }), text: 'Previous' }}
        next={next !== null && { href: urlOf({ after: next }), text: 'Next' }}
      />
    </div>
  );
}

/**
 * Attributes that immediately replace the page's `#results` with those of the next page, so that a search
 * that has found nothing yet continues by itself.
 */
function autoLoad(nextPageUrl: string) {
  return {
    'hx-get': nextPageUrl,
    'hx-trigger': 'load delay:50ms',
    'hx-select': '#results',
    'hx-target': '#results',
    'hx-swap': 'outerHTML',
  };
}
