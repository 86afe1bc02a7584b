import type { Child, PropsWithChildren } from 'hono/jsx';
import { canAct } from '../request-context.ts';
import { Zone } from './text.tsx';

type PostFormProps = PropsWithChildren<{
  readonly action: string;
  readonly class?: string;
  /** By default, viewers don't see it. */
  readonly isForEveryone?: boolean;
}>;

/** A form that changes something. */
export function PostForm({ children, isForEveryone = false, ...rest }: PostFormProps) {
  if (!isForEveryone && !canAct()) return null;
  return (
    <form method="post" {...rest}>
      {children}
    </form>
  );
}

type ButtonProps = PropsWithChildren<{
  /** `main` for a form's purpose, `quiet` for the rest. */
  readonly kind?: 'main' | 'quiet';
  readonly name?: string;
  readonly value?: string;
  readonly disabled?: boolean;
}>;

/** Submits its form. */
export function Button({ kind = 'quiet', children, ...rest }: ButtonProps) {
  return (
    <button type="submit" class={`button ${kind}`} {...rest}>
      {children}
    </button>
  );
}

export type FieldProps = {
  readonly label: Child;
  readonly name: string;
  /** Where several forms of a page have a field with this name. */
  readonly id?: string;
  readonly type?: 'text' | 'search' | 'password' | 'datetime-local';
  readonly value?: string | undefined;
  /** What to enter, below the field. */
  readonly hint?: Child;
  /** What is wrong with the value. */
  readonly error?: string | undefined;
  readonly maxlength?: number;
  readonly required?: boolean;
  readonly autofocus?: boolean;
  readonly autocomplete?: string;
  /** What the browser offers. */
  readonly offered?: readonly string[];
};

/** An input with its label, hint and error. */
export function Field({ label, name, type = 'text', maxlength = 200, ...rest }: FieldProps) {
  const { id = `field-${name}`, hint, error, offered, ...input } = rest;
  const describedBy = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        {...{ id, name, type, maxlength, ...input }}
        aria-describedby={describedBy || undefined}
        aria-invalid={error === undefined ? undefined : 'true'}
        list={offered && `${id}-offered`}
      />
      {offered && (
        <datalist id={`${id}-offered`}>
          {offered.map((text) => (
            <option value={text} />
          ))}
        </datalist>
      )}
      {hint && (
        <p class="quiet" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error && (
        <p class="error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

type TimeFieldProps = Pick<FieldProps, 'name' | 'error'> & {
  readonly label: string;
  /** `undefined`: empty. */
  readonly ms: number | undefined;
};

/** A time to the minute. It is sent in UTC; a script lets it be entered in the reader's zone. */
export function TimeField({ label, ms, ...rest }: TimeFieldProps) {
  const value = ms === undefined ? '' : new Date(ms).toISOString().slice(0, 16);
  const zoned = (
    <>
      {label} (<Zone />)
    </>
  );
  return <Field type="datetime-local" label={zoned} value={value} autocomplete="off" {...rest} />;
}

type SelectProps<Option extends string> = {
  readonly label: string;
  readonly name: string;
  /** The label of the empty choice. */
  readonly any: string;
  readonly options: readonly Option[];
  /** What is shown for an option; the option itself by default. */
  readonly textOf?: (option: Option) => string;
  readonly value: string;
};

/** A choice among a few values, or none of them. */
export function Select<Option extends string>(props: SelectProps<Option>) {
  const { label, name, any, options, textOf, value } = props;
  const id = `field-${name}`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name}>
        <option value="">{any}</option>
        {options.map((option) => (
          <option value={option} selected={option === value}>
            {textOf?.(option) ?? option}
          </option>
        ))}
      </select>
    </div>
  );
}
