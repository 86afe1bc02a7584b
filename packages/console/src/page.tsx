import { raw } from 'hono/html';
import type { Child, PropsWithChildren } from 'hono/jsx';
import { assetUrl } from './assets.ts';
import { Button, PostForm } from './components/form.tsx';
import { Facts, Notice } from './components/panels.tsx';
import { plainText, Zone } from './components/text.tsx';
import { currentRequest } from './request-context.ts';

export const LOGOUT_PATH = '/logout';

/** The navigation. */
const AREAS = [
  { name: 'Overview', path: '/' },
  { name: 'Attention', path: '/attention' },
  { name: 'Teams', path: '/teams' },
  { name: 'Events', path: '/events' },
  { name: 'Compare', path: '/compare' },
] as const;

type PageProps = PropsWithChildren<{
  /** Can be untrusted. */
  readonly title: string;
  /** The title by default. */
  readonly heading?: Child;
  /** The current entry of the navigation. */
  readonly area: (typeof AREAS)[number]['name'] | null;
}>;

/**
 * htmx sends requests to no other host, runs no code from attributes, and stores no page in the
 * browser. An error appears above the page and replaces no part of it.
 */
const HTMX_CONFIG = JSON.stringify({
  selfRequestsOnly: true,
  allowEval: false,
  allowScriptTags: false,
  includeIndicatorStyles: false,
  historyCacheSize: 0,
  refreshOnHistoryMiss: true,
  // A part of another page does not bring its title.
  ignoreTitle: true,
  timeout: 15_000,
  responseHandling: [
    { code: '204', swap: false },
    { code: '[23]..', swap: true },
    {
      code: '[45]..',
      swap: true,
      error: true,
      target: '#notice',
      swapOverride: 'innerHTML',
      select: '.notice',
    },
  ],
});

/** The frame of every page. */
export function Page({ title, heading = title, area, children }: PageProps) {
  return (
    <>
      {raw('<!doctype html>')}
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="robots" content="noindex" />
          <meta name="htmx-config" content={HTMX_CONFIG} />
          <title>{`${plainText(title)} · Instep`}</title>
          <link rel="icon" href={assetUrl('icon.svg')} />
          <link rel="stylesheet" href={assetUrl('style.css')} />
          <script src={assetUrl('htmx.js')} defer />
          <script src={assetUrl('times.js')} defer />
          <script src={assetUrl('live.js')} defer />
          <script src={assetUrl('keys.js')} defer />
          <script src={assetUrl('forms.js')} defer />
        </head>
        <body>
          <a class="skip" href="#main">
            Skip to content
          </a>
          <Header area={area} />
          <main id="main" tabindex={-1}>
            <div id="notice" role="alert" />
            <template id="unreachable">
              <Notice kind="error" title="The server does not answer">
                This page shows older data. Retrying…
              </Notice>
            </template>
            <h1>{heading}</h1>
            {children}
          </main>
          {currentRequest().requester.kind !== 'visitor' && <KeyHelp />}
        </body>
      </html>
    </>
  );
}

function Header({ area }: Pick<PageProps, 'area'>) {
  const { requester, nowMs } = currentRequest();
  return (
    <header class="bar" data-now-ms={nowMs}>
      <span class="brand">Instep</span>
      {requester.kind !== 'visitor' && (
        <>
          <nav aria-label="Areas">
            {AREAS.map(({ name, path }) => (
              <a href={path} aria-current={name === area ? 'page' : undefined}>
                {name}
              </a>
            ))}
          </nav>
          <search aria-label="Console">
            <form method="get" action="/search">
              <input
                id="search"
                type="search"
                name="q"
                maxlength={300}
                placeholder="Search"
                aria-label="Search people, events, customers, subscriptions and teams"
                aria-keyshortcuts="/"
              />
            </form>
          </search>
          <p class="zones">
            Times in <Zone />
          </p>
        </>
      )}
      {requester.kind === 'session' && (
        <PostForm action={LOGOUT_PATH} isForEveryone>
          <Button>
            Log out&nbsp;<bdi>{requester.name}</bdi>
          </Button>
        </PostForm>
      )}
    </header>
  );
}

const KEYS = [
  ['/', 'Search'],
  ['j, k', 'Next and previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row'],
] as const;

/** The help for keys, which a script shows where they work. Speech input types letters, so they can be turned off. */
function KeyHelp() {
  return (
    <footer class="keys" hidden>
      <details>
        <summary>Keys</summary>
        <Facts facts={KEYS} />
        <label>
          <input type="checkbox" id="single-keys" /> Use these keys
        </label>
      </details>
    </footer>
  );
}
