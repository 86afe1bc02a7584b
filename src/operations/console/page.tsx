import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import { assetUrl } from './assets.ts';
import { Button } from './components/button.tsx';
import { CsrfField } from './components/csrf-field.tsx';
import { ErrorNotice } from './components/error-notice.tsx';
import { currentRequest } from './request-context.ts';

/** The pages that the navigation leads to. */
const AREAS = [
  { name: 'Overview', path: '/' },
  { name: 'Teams', path: '/teams' },
  { name: 'Events', path: '/events' },
  { name: 'Reconcile', path: '/reconcile' },
] as const;

export type PageProps = {
  readonly title: string;
  /** Where the page belongs in the navigation; `null` for one that belongs nowhere. */
  readonly area: (typeof AREAS)[number]['name'] | null;
  readonly children?: Child;
};

/**
 * For htmx: nothing from other hosts, no code in attributes, no page kept in the browser's storage.
 * What goes wrong is shown above the page, and takes the place of nothing in it.
 */
const HTMX_CONFIG = JSON.stringify({
  selfRequestsOnly: true,
  allowEval: false,
  allowScriptTags: false,
  includeIndicatorStyles: false,
  historyCacheSize: 0,
  refreshOnHistoryMiss: true,
  timeout: 15_000,
  responseHandling: [
    { code: '204', swap: false },
    { code: '[23]..', swap: true },
    { code: '[45]..', swap: true, error: true, target: '#notice', swapOverride: 'innerHTML' },
  ],
});

/** The frame of every page. */
export function Page({ title, area, children }: PageProps) {
  return (
    <>
      {raw('<!doctype html>')}
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="robots" content="noindex" />
          <meta name="htmx-config" content={HTMX_CONFIG} />
          <title>{`${title} · Instep`}</title>
          <link rel="icon" href={assetUrl('icon.svg')} />
          <link rel="stylesheet" href={assetUrl('style.css')} />
          <script src={assetUrl('htmx.js')} defer />
          <script src={assetUrl('times.js')} defer />
          <script src={assetUrl('notice.js')} defer />
          <script src={assetUrl('renewal.js')} defer />
        </head>
        <body>
          <a class="skip" href="#main">
            Skip to the content
          </a>
          <Header area={area} />
          <main id="main" tabindex={-1}>
            <div id="notice" role="alert" />
            <template id="unreachable">
              <ErrorNotice title="The server does not answer">
                What is shown here is of the time before.
              </ErrorNotice>
            </template>
            <h1>{title}</h1>
            {children}
          </main>
        </body>
      </html>
    </>
  );
}

function Header({ area }: Pick<PageProps, 'area'>) {
  const { viewer } = currentRequest();
  return (
    <header class="bar">
      <span class="brand">Instep</span>
      {viewer.kind !== 'visitor' && <Navigation area={area} />}
      {viewer.kind === 'session' && (
        <form method="post" action="/logout">
          <CsrfField />
          <Button kind="quiet">Log out</Button>
        </form>
      )}
    </header>
  );
}

function Navigation({ area }: Pick<PageProps, 'area'>) {
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
