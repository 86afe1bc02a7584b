export type PagerProps = {
  /** Where the page before and after this one is; `null` where there is none. */
  readonly newer: string | null;
  readonly older: string | null;
};

/** Leads through a list that is newest first. */
export function Pager({ newer, older }: PagerProps) {
  if (newer === null && older === null) return null;
  return (
    <nav class="pager" aria-label="Pages">
      {newer === null ? (
        <span>Newer</span>
      ) : (
        <a href={newer} rel="prev">
          Newer
        </a>
      )}
      {older === null ? (
        <span>Older</span>
      ) : (
        <a href={older} rel="next">
          Older
        </a>
      )}
    </nav>
  );
}
