import type { PropsWithChildren } from 'hono/jsx';
import { Button } from './form.tsx';

type FilterFormProps = PropsWithChildren<{
  /** Names the list, for screen readers. */
  readonly label: string;
  /** The page with the list. */
  readonly path: string;
  /** What is chosen; empty fields filter nothing. */
  readonly fields: Readonly<Record<string, string>>;
}>;

/** Filters a list by its fields, which show what is chosen. */
export function FilterForm({ label, path, fields, children }: FilterFormProps) {
  const isFiltered = Object.values(fields).some((value) => value !== '');
  return (
    <search aria-label={label}>
      <form method="get" action={path} class="row">
        {children}
        <Button kind="main">Filter</Button>
        {isFiltered && (
          <a class="button" href={path}>
            Show all
          </a>
        )}
      </form>
    </search>
  );
}
