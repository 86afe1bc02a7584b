import type { Child } from 'hono/jsx';
import type { PageEnds } from 'instep/operate';

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

type ListEndProps<Key> = PageEnds<Key> & {
  /** The page starts after this row; `null`: it is the first one. */
  readonly start: Key | null;
  readonly isEmpty: boolean;
  /** The address of the page after a row; without one, of the first page. */
  readonly urlOf: (start: { readonly after?: Key }) => string;
  /** The name of the first page. */
  readonly first: string;
  /** What a search has covered that ran out of time. */
  readonly searched: Child;
};

/** The end of a page of a list: how far a search got, and links to other pages. */
export function ListEnd<Key extends number | string>(props: ListEndProps<Key>) {
  const { next, searchedTo, start, isEmpty, urlOf, first, searched } = props;
  return (
    <>
      {searchedTo !== null && (
        <p class="quiet" {...(isEmpty && autoLoad(urlOf({ after: searchedTo })))}>
          {searched}
        </p>
      )}
      <Pager
        first={start !== null && { href: urlOf({}), text: first }}
        next={next !== null && { href: urlOf({ after: next }), text: 'Next' }}
      />
    </>
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
