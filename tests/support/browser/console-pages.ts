import { createLogger } from 'instep';
import { toNodeListener } from 'instep-console';
import { createPages, type PagesOptions } from 'instep-console/src/pages.tsx';
import { atEndOfFile } from '../end-of-file.ts';
import type { Database } from '../internals/database.ts';
import { createContext, listenForOperators } from '../internals/operations.ts';
import { API_KEY } from '../secrets/test-secrets.ts';
import { csrfIn } from '../service/console-service.ts';

export type Shown = {
  readonly status: number;
  /** After redirects, without the host. */
  readonly url: string;
  readonly html: string;
  /** Without tags, with one space between words. */
  readonly text: string;
};

type FormFields = Readonly<Record<string, string>> | readonly (readonly [string, string])[];

export type ConsoleService = {
  readonly url: string;
  get(path: string): Promise<Shown>;
  /** Sends a form with the token of a page. A field can occur more than once in a list. */
  post(path: string, fields?: FormFields): Promise<Shown>;
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
  given: { readonly apiBase?: string } & Partial<PagesOptions> = {},
): Promise<ConsoleService> {
  const { apiBase = 'http://127.0.0.1:9', ...options } = given;
  const logger = createLogger('silent');
  const context = createContext({
    database,
    stripeApi: { secretKey: API_KEY, baseUrl: new URL(apiBase) },
    planSelection: 'newest',
    logger,
    now: Date.now,
    close: async () => undefined,
  });
  const app = createPages({ ...context, access: { kind: 'local' }, basePath: '', ...options });
  const host = '127.0.0.1';
  const listener = await listenForOperators({ host, port: 0, logger, checkToken: null });
  listener.show({
    metrics: null,
    pages: toNodeListener(async (request) => await app.fetch(request)),
    syncApis: new Map(),
  });
  atEndOfFile(() => app.close());
  atEndOfFile(() => listener.close(1_000));

  const { url } = listener;
  const fetchPath: ConsoleService['fetch'] = (path, init) => fetch(new URL(path, url), init);
  return {
    url,
    fetch: fetchPath,
    stop: () => listener.close(1_000),
    closePages: () => app.close(),
    get: async (path) => shown(await fetchPath(path)),
    async post(path, fields = {}) {
      const page = await fetchPath('/reconcile');
      const cookie = page.headers
        .getSetCookie()
        .map((one) => one.split(';')[0])
        .join('; ');
      const csrf = csrfIn(await page.text());
      const body = new URLSearchParams({ csrf });
      for (const [name, value] of entriesOf(fields)) {
        if (name === 'csrf') body.set(name, value);
        else body.append(name, value);
      }
      const headers = { cookie, origin: new URL(url).origin };
      return shown(await fetchPath(path, { method: 'POST', body, headers }));
    },
  };
}

function entriesOf(fields: FormFields) {
  return Symbol.iterator in fields ? [...fields] : Object.entries(fields);
}

async function shown(response: Response): Promise<Shown> {
  const html = await response.text();
  const { pathname, search } = new URL(response.url);
  return { status: response.status, url: pathname + search, html, text: textOf(html) };
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
