import type { Child, PropsWithChildren } from 'hono/jsx';

/** `id` is for links and for htmx; the heading's id is derived from it. */
type PanelProps = PropsWithChildren<{ readonly title: string; readonly id: string }>;

/** A section of a page with its own heading. */
export function Panel({ title, id, children }: PanelProps) {
  return (
    <section class="panel" id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      {children}
    </section>
  );
}

export type Fact = readonly [name: string, value: Child];

/** A list of names and values. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
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

type NoticeProps = PropsWithChildren<{
  readonly title: string;
  /** `empty` takes the place of a list without entries. */
  readonly kind: 'error' | 'empty' | 'done';
}>;

/** Says what happened and what to do. */
export function Notice({ title, kind, children }: NoticeProps) {
  return (
    <div class={`notice ${kind}`} role={kind === 'done' ? 'status' : undefined}>
      <strong>{title}</strong>
      {children && <p>{children}</p>}
    </div>
  );
}
