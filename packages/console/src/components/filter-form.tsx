import type { Child, PropsWithChildren } from 'hono/jsx';
import { urlWith } from '../query-parameters.ts';
import { Button } from './form.tsx';
import { Time, UntrustedText } from './text.tsx';

type FilterFormProps = PropsWithChildren<{
  /** Names the list, for screen readers. */
  readonly label: string;
  /** The page with the list. */
  readonly path: string;
  /** The filters, as they were entered; empty ones filter nothing. */
  readonly fields: Readonly<Record<string, string>>;
  /** The names of the filters that have no input. */
  readonly hidden?: readonly string[];
  /** The inputs beside the button. */
  readonly inputs: Child;
  /** What is shown for a value; the value itself by default. */
  readonly textOf?: (value: string) => string;
  /** The filters that are times. */
  readonly times?: Readonly<Record<string, number | undefined>>;
}>;

/** Filters a list, and shows the chosen filters, each of which can be removed. */
export function FilterForm(props: FilterFormProps) {
  const { label, path, fields, hidden = [], inputs, textOf, times = {}, children } = props;
  const chosen = Object.entries(fields).filter(([, value]) => value !== '');
  return (
    <search aria-label={label}>
      <form method="get" action={path}>
        <div class="row">
          {inputs}
          <Button kind="main">Filter</Button>
        </div>
        {hidden.map(
          (name) => fields[name] && <input type="hidden" name={name} value={fields[name]} />,
        )}
        {chosen.length > 0 && (
          <nav class="chips" aria-label="Filters">
            {chosen.map(([name, value]) => {
              const ms = times[name];
              return (
                <a href={urlWith(path, fields, { [name]: '' })} title="Remove">
                  {name}:{' '}
                  {ms === undefined ? (
                    <UntrustedText text={textOf?.(value) ?? value} maxLength={60} />
                  ) : (
                    <Time ms={ms} format="slot" />
                  )}{' '}
                  ×
                </a>
              );
            })}
          </nav>
        )}
        {children}
      </form>
    </search>
  );
}
