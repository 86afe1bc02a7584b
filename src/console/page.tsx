import type { Child } from 'hono/jsx';

/** The pages that the navigation leads to. */
const AREAS = [
  { name: 'Overview', path: '/' },
  { name: 'Teams', path: '/teams' },
  { name: 'Events', path: '/events' },
  { name: 'Reconcile', path: '/reconcile' },
] as const;

export type PageProps = {
  readonly title: string;
  /** Where the page belongs in the navigation; `null` for one before the login. */
  readonly area: (typeof AREAS)[number]['name'] | null;
  readonly children?: Child;
};

/** The frame of every page. */
export function Page({ title, area, children }: PageProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${title} · Instep`}</title>
        <link rel="stylesheet" href="/assets/style.css" />
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        {area !== null && <Navigation area={area} />}
        <main id="main">
          <h1>{title}</h1>
          {children}
        </main>
      </body>
    </html>
  );
}

function Navigation({ area }: { readonly area: string }) {
  return (
    <nav aria-label="Areas">
      {AREAS.map(({ name, path }) => (
        <a href={path} aria-current={name === area ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}
