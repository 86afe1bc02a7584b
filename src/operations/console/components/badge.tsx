import type { Child } from 'hono/jsx';

/** `good`: nobody has to do anything; `bad`: somebody has to; `quiet`: it had no effect. */
export type Tone = 'good' | 'warning' | 'bad' | 'quiet' | 'accent';

/** A word with a colour. The word alone says all. */
export function Badge({ tone, children }: { readonly tone: Tone; readonly children: Child }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}
