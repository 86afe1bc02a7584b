import type { Child } from 'hono/jsx';

type Column =
  | string
  | {
      readonly name: string;
      /** For the cells: `end` aligns numbers, `wide` is for sentences. */
      readonly class?: 'end' | 'wide';
    };

type TableProps = {
  /** Names the rows, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Child[])[];
};

/** A table with more columns, or with sentences, becomes a list of cards where it is narrow. */
const MAX_NARROW_COLUMNS = 3;

/** A dense table. If it is wider than the page, it scrolls, also by keyboard. */
export function Table({ label, columns, rows }: TableProps) {
  const all = columns.map((column) => (typeof column === 'string' ? { name: column } : column));
  const isTooWide =
    columns.length > MAX_NARROW_COLUMNS || all.some((column) => column.class === 'wide');
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
        <tbody>
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
      </table>
    </section>
  );
}
