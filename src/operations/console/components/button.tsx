import type { Child } from 'hono/jsx';

export type ButtonProps = {
  /** `main` for what a form is there for, `danger` for what changes teams, `quiet` for the rest. */
  readonly kind?: 'main' | 'danger' | 'quiet';
  readonly type?: 'submit' | 'button';
  readonly name?: string;
  readonly value?: string;
  readonly disabled?: boolean;
  readonly children: Child;
};

/** A button; it sends its form, unless it says otherwise. */
export function Button({ kind = 'quiet', type = 'submit', children, ...rest }: ButtonProps) {
  return (
    <button type={type} class={`button ${kind}`} {...rest}>
      {children}
    </button>
  );
}
