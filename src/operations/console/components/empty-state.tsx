import type { Child } from 'hono/jsx';

/** Stands where there would be something, and says why there is nothing and what would change it. */
export function EmptyState({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: Child;
}) {
  return (
    <div class="empty-state">
      <strong>{title}</strong>
      {children && <p>{children}</p>}
    </div>
  );
}
