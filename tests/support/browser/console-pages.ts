import { createLogger } from 'instep';
import { toNodeListener } from 'instep-console';
import { createPages, type PagesOptions } from 'instep-console/src/pages.tsx';
import type { ConsoleUser } from 'instep-operate';
import { atEndOfFile } from '../end-of-file.ts';
import type { Database } from '../internals/database.ts';
import { createContext, listenForOperators } from '../internals/operations.ts';
import { API_KEY } from '../secrets/test-secrets.ts';
import { fieldsOf } from './forms.ts';

export type Shown = {
  readonly status: number;
  /** After redirects, without the host. */
  readonly url: string;
  readonly html: string;
  /** Without tags, with one space between words. */
  readonly text: string;
  /** The codes of the results of actions. */
  readonly results: readonly string[];
  /** The address of the first link with this text or attribute; `null` without one. */
  hrefOf(textOrAttribute: string): string | null;
};

type FormFields = Readonly<Record<string, string>> | readonly (readonly [string, string])[];

export type ConsoleService = {
  readonly url: string;
  get(path: string): Promise<Shown>;
  /** Sends a form. A field can occur more than once in a list. */
  post(path: string, fields?: FormFields): Promise<Shown>;
  /** Presses the button with this value on a page, such as `repair team:7`, with what was entered in its form. */
  press(path: string, value: string, entered?: FormFields): Promise<Shown>;
  /** The unprocessed response. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Stops the server. */
  stop(): Promise<void>;
  /** Ends what the pages do in the background. */
  closePages(): Promise<void>;
};

/** The console of a database over HTTP, until the end of the test file. */
export async function openConsole(
  database: Database,
  given: { readonly apiBase?: string; readonly user?: ConsoleUser } & Partial<PagesOptions> = {},
): Promise<ConsoleService> {
  const { apiBase = 'http://127.0.0.1:9', user, ...options } = given;
  const logger = createLogger('silent');
  const context = createContext({
    database,
    stripeApi: { secretKey: API_KEY, baseUrl: new URL(apiBase) },
    planSelection: 'newest',
    logger,
    now: Date.now,
    close: async () => undefined,
  });
  const access = { kind: user === undefined ? 'local' : 'application' } as const;
  const app = createPages({ ...context, access, basePath: '', ...options });
  const host = '127.0.0.1';
  const listener = await listenForOperators({ host, port: 0, logger, checkToken: null });
  listener.show({
    metrics: null,
    pages: toNodeListener(async (request) => await app.fetch(request, { user })),
    syncApis: new Map(),
  });
  atEndOfFile(() => app.close());
  atEndOfFile(() => listener.close(1_000));

  const { url } = listener;
  const fetchPath: ConsoleService['fetch'] = (path, init) => fetch(new URL(path, url), init);
  const post: ConsoleService['post'] = async (path, fields = {}) => {
    const body = new URLSearchParams();
    for (const [name, value] of entriesOf(fields)) body.append(name, value);
    const headers = { origin: new URL(url).origin };
    return shown(await fetchPath(path, { method: 'POST', body, headers }));
  };
  return {
    url,
    fetch: fetchPath,
    stop: () => listener.close(1_000),
    closePages: () => app.close(),
    get: async (path) => shown(await fetchPath(path)),
    post,
    async press(path, value, entered = {}) {
      const { html } = await shown(await fetchPath(path));
      return await post('/actions', [...fieldsOf(html, value), ...entriesOf(entered)]);
    },
  };
}

const entriesOf = (fields: FormFields) =>
  Symbol.iterator in fields ? [...fields] : Object.entries(fields);

async function shown(response: Response): Promise<Shown> {
  const html = await response.text();
  const { pathname, search } = new URL(response.url);
  return {
    ...{ status: response.status, url: pathname + search, html, text: textOf(html) },
    results: [...html.matchAll(/data-result="([^"]*)"/g)].map(([, code = '']) => code),
    hrefOf(textOrAttribute) {
      const links = html.match(/<a .*?<\/a>/gs) ?? [];
      const isIt = (link: string) =>
        link.includes(` ${textOrAttribute}>`) || textOf(link).trim() === textOrAttribute;
      const [, href] = / href="([^"]*)"/.exec(links.find(isIt) ?? '') ?? [];
      return href?.replaceAll('&amp;', '&') ?? null;
    },
  };
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

function textOf(html: string): string {
  return html
    .replace(/<(head|template)\b.*?<\/\1>/gs, ' ')
    .replace(/<bdi class="id"[^>]*><span>([^<]*)<\/span><span>([^<]*)<\/span>/g, ' $1$2')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity)
    .replace(/\s+/g, ' ');
}
