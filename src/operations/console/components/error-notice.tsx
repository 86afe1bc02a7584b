import type { Child } from 'hono/jsx';

/** Says that something went wrong, and what to do. */
export function ErrorNotice({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: Child;
}) {
  return (
    <div class="error-notice">
      <strong>{title}</strong>
      {children && <p>{children}</p>}
    </div>
  );
}
