import type { Child } from 'hono/jsx';

export type FieldProps = {
  readonly label: string;
  readonly name: string;
  readonly type?: 'text' | 'search' | 'password' | 'datetime-local' | 'number';
  readonly value?: string | undefined;
  /** What may stand there, below the field. */
  readonly hint?: Child;
  /** What is wrong with what stands there. */
  readonly error?: string | undefined;
  readonly maxlength?: number;
  readonly required?: boolean;
  readonly autofocus?: boolean;
  readonly autocomplete?: string;
};

/** A field of a form with its label, its hint and its error. */
export function Field({
  label,
  name,
  type = 'text',
  hint,
  error,
  maxlength = 200,
  ...rest
}: FieldProps) {
  const id = `field-${name}`;
  const told = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        {...rest}
        id={id}
        name={name}
        type={type}
        maxlength={maxlength}
        aria-describedby={told || undefined}
        aria-invalid={error === undefined ? undefined : 'true'}
      />
      {hint && (
        <p class="hint" id={`${id}-hint`}>
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
