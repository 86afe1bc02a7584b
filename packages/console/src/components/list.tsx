import type { Child, PropsWithChildren } from 'hono/jsx';
import type { PageEnds, PageStart } from 'instep-operate';
import { urlWith } from '../query-parameters.ts';
import { Button } from './form.tsx';

/** The values of a list's filter, as they were entered; an empty one filters nothing. */
type Fields = Readonly<Record<string, string>>;

export const isFiltered = (fields: Fields) => Object.values(fields).some((value) => value !== '');

type FilterFormProps = PropsWithChildren<{
  /** Names the list, for screen readers. */
  readonly label: string;
  /** The page with the list. */
  readonly path: string;
  readonly fields: Fields;
}>;

/** Filters a list by its fields, which show what is chosen. */
export function FilterForm({ label, path, fields, children }: FilterFormProps) {
  return (
    <search aria-label={label}>
      <form method="get" action={path} class="row">
        {children}
        <Button kind="main">Filter</Button>
        {isFiltered(fields) && (
          <a class="button" href={path}>
            Show all
          </a>
        )}
      </form>
    </search>
  );
}

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

/** Downloads a whole list as a file, with the filter of its page. */
export function ExportLink({ path, fields }: Pick<FilterFormProps, 'path' | 'fields'>) {
  return (
    <p>
      <a href={urlWith(path, fields, { format: 'csv' })} download>
        Export all as CSV
      </a>
    </p>
  );
}

type ListProps<Key> = PropsWithChildren<
  PageEnds<Key> &
    Pick<FilterFormProps, 'path' | 'fields'> & {
      readonly start: PageStart<Key> | null;
      readonly isEmpty: boolean;
      /** What stands in the place of an empty list. */
      readonly empty: Child;
      /** The name of the first page. */
      readonly first: string;
      /** What a search has covered that ran out of time. */
      readonly searched?: Child;
    }
>;

/** A page of a list, with its export, how far a search got, and links to other pages. */
export function List<Key extends number | string>(props: ListProps<Key>) {
  const { path, fields, start, isEmpty, next, previous, searchedTo } = props;
  const urlOf = (from: Readonly<Record<string, Key>>) => urlWith(path, fields, from);
  return (
    <div id="results">
      {!isEmpty && <ExportLink path={path} fields={fields} />}
      {!isEmpty && props.children}
      {isEmpty && searchedTo === null && props.empty}
      {searchedTo !== null && (
        <p
          class="quiet"
          {...(isEmpty && autoLoad(urlOf({ [start?.side ?? 'after']: searchedTo })))}
        >
          {props.searched}
        </p>
      )}
      <Pager
        first={previous !== null && { href: urlOf({}), text: props.first }}
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
