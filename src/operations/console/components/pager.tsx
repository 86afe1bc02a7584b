type Way = { readonly href: string; readonly text: string };

export type PagerProps = {
  /** Back to the beginning; `null` when this is it. */
  readonly first: Way | null;
  /** To what follows; `null` when nothing does. */
  readonly next: Way | null;
};

/** Leads through a list that is longer than its page. */
export function Pager({ first, next }: PagerProps) {
  return (
    <nav class="pager" aria-label="Pages">
      {first !== null && <a href={first.href}>{first.text}</a>}
      {next !== null && (
        <a href={next.href} rel="next">
          {next.text}
        </a>
      )}
    </nav>
  );
}
