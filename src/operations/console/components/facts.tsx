import type { Child } from 'hono/jsx';

export type FactsProps = { readonly facts: readonly (readonly [name: string, value: Child])[] };

/** What is known of one thing: a list of names and values. */
export function Facts({ facts }: FactsProps) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
