import type { Child } from 'hono/jsx';

/** `class` is for the cells: `end` aligns numbers, `wide` is for sentences. */
export type Column = string | { readonly name: string; readonly class: 'end' | 'wide' };

export type TableProps = {
  /** What the rows are, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Child[])[];
  /** Whether the first cell names its row. */
  readonly hasRowNames?: boolean;
};

/** A wider table is a list of cards on a phone. */
const MAX_PHONE_COLUMNS = 3;

/** A dense table. One that is wider than the page scrolls, also by keyboard. */
export function Table({ label, columns, rows, hasRowNames = false }: TableProps) {
  const [names, classes] = [columns.map(nameOf), columns.map(classOf)];
  return (
    <section class="scroll" aria-label={label} tabindex={0}>
      <table class={columns.length > MAX_PHONE_COLUMNS ? 'cards' : undefined}>
        <thead>
          <tr>
            {names.map((name, index) => (
              <th scope="col" class={classes[index]}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells) => (
            <tr>
              {cells.map((cell, index) =>
                hasRowNames && index === 0 ? (
                  <th scope="row">{cell}</th>
                ) : (
                  <td class={classes[index]} data-label={names[index]}>
                    {cell}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const nameOf = (column: Column) => (typeof column === 'string' ? column : column.name);
const classOf = (column: Column) => (typeof column === 'string' ? undefined : column.class);
