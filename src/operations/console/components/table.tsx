import type { Child } from 'hono/jsx';

export type TableProps = {
  /** What the rows are, for those who do not see them. */
  readonly label: string;
  readonly columns: readonly Column[];
  /** The rows: `<tr>` with as many cells as there are columns. */
  readonly children: Child;
};

/** `end` for numbers. */
export type Column = string | { readonly name: string; readonly align: 'end' };

/** A dense table. One that is too wide for the page scrolls by itself, also by keyboard. */
export function Table({ label, columns, children }: TableProps) {
  return (
    <section class="scroll" aria-label={label} tabindex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) =>
              typeof column === 'string' ? (
                <th scope="col">{column}</th>
              ) : (
                <th scope="col" class={column.align}>
                  {column.name}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}
