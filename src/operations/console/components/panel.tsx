import type { Child } from 'hono/jsx';

export type PanelProps = {
  readonly title: string;
  /** Of the panel, for links and for htmx; its heading is named after it. */
  readonly id: string;
  readonly children: Child;
};

/** A part of a page with a heading of its own. */
export function Panel({ title, id, children }: PanelProps) {
  return (
    <section class="panel" id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      {children}
    </section>
  );
}
