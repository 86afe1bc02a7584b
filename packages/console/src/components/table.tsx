import type { Child } from 'hono/jsx';

type Column =
  | string
  | {
      readonly name: string;
      /** For the cells: `end` aligns numbers, `wide` is for sentences. */
      readonly class?: 'end' | 'wide';
    };

type Rows = readonly (readonly Child[])[];

type TableProps = {
  /** Names the rows, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column[];
  readonly rows?: Rows;
  /** Rows of several kinds, each with a heading, instead of `rows`. */
  readonly groups?: readonly { readonly heading: Child; readonly rows: Rows }[];
};

/** A table with more columns, or with sentences, becomes a list of cards on a phone. */
const MAX_PHONE_COLUMNS = 3;

/** A dense table. If it is wider than the page, it scrolls, also by keyboard. */
export function Table({ label, columns, ...content }: TableProps) {
  const all = columns.map((column) => (typeof column === 'string' ? { name: column } : column));
  const isTooWide =
    columns.length > MAX_PHONE_COLUMNS || all.some((column) => column.class === 'wide');
  const groups = content.groups ?? [{ heading: null, rows: content.rows ?? [] }];
  return (
    <section class="scroll" aria-label={label} tabindex={0}>
      <table class={isTooWide ? 'cards' : undefined}>
        <thead>
          <tr>
            {all.map(({ name, class: alignment }) => (
              <th scope="col" class={alignment}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        {groups.map(({ heading, rows }) => (
          <tbody>
            {heading !== null && (
              <tr class="group">
                <th scope="rowgroup" colspan={columns.length}>
                  {heading}
                </th>
              </tr>
            )}
            {rows.map((cells) => (
              <tr>
                {cells.map((cell, index) => (
                  <td class={all[index]?.class} data-label={all[index]?.name}>
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </section>
  );
}
