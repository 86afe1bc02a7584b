import { createLogger, type Exposition } from 'instep';
import { toNodeListener } from 'instep-console';
import { createPages, type PagesOptions } from 'instep-console/src/pages.tsx';
import type { ConsoleUser, NamedToken } from 'instep-operate';
import { atEndOfFile } from '../end-of-file.ts';
import type { Database } from '../internals/database.ts';
import { createContext, createTokenCheck, listenForOperators } from '../internals/operations.ts';
import { checkOutput } from '../secrets/leaks.ts';
import { API_KEY } from '../secrets/test-secrets.ts';
import { Operator } from './operator.ts';

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

export type ConsoleService = Awaited<ReturnType<typeof openConsole>>;

type Given = Partial<PagesOptions> & {
  readonly apiBase?: string;
  readonly user?: ConsoleUser;
  /** None by default: everyone on this machine is an operator. */
  readonly tokens?: readonly NamedToken[];
  readonly metrics?: Exposition;
  /** Adds routes for the test. */
  readonly extend?: (app: ReturnType<typeof createPages>) => void;
};

/** The console of a database over HTTP, until the end of the test file. */
export async function openConsole(database: Database, given: Given = {}) {
  const {
    apiBase = 'http://127.0.0.1:9',
    user,
    tokens,
    metrics = null,
    extend,
    ...options
  } = given;
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger('info', {
    write(line) {
      checkOutput(['the console'], line);
      lines.push(JSON.parse(line));
    },
  });
  const context = createContext({
    database,
    stripeApi: { secretKey: API_KEY, baseUrl: new URL(apiBase) },
    planSelection: 'newest',
    logger,
    now: Date.now,
    close: async () => undefined,
  });
  const checkToken = tokens === undefined ? null : createTokenCheck(tokens, logger);
  const login = tokens && checkToken && ({ kind: 'login', tokens, checkToken } as const);
  const access = login ?? ({ kind: user === undefined ? 'local' : 'application' } as const);
  const app = createPages({ ...context, access, basePath: '', ...options });
  extend?.(app);
  const listener = await listenForOperators({ host: '127.0.0.1', port: 0, logger, checkToken });
  const pages = toNodeListener(async (request) => await app.fetch(request, { user }));
  listener.show({ metrics, pages, answerCall: noCall });
  atEndOfFile(() => app.close());
  atEndOfFile(() => listener.close(1_000));

  const { url } = listener;
  const fetchPath = (path: string, init?: RequestInit) => fetch(new URL(path, url), init);
  async function post(path: string, fields: FormFields = {}): Promise<Shown> {
    const body = new URLSearchParams();
    for (const [name, value] of entriesOf(fields)) body.append(name, value);
    const headers = { origin: new URL(url).origin };
    return await shown(await fetchPath(path, { method: 'POST', body, headers }));
  }
  return {
    url,
    lines,
    newOperator: () => new Operator(url),
    /** The unprocessed response. */
    fetch: fetchPath,
    /** Stops the server. */
    stop: () => listener.close(1_000),
    /** Ends what the pages do in the background. */
    closePages: () => app.close(),
    get: async (path: string) => shown(await fetchPath(path)),
    /** Sends a form. A field can occur more than once in a list. */
    post,
    /** Presses the button with this value on a page, such as `repair team:7`, with what was entered in its form. */
    async press(path: string, value: string, entered: FormFields = {}) {
      const { html } = await shown(await fetchPath(path));
      return await post('/actions', [...fieldsOf(html, value), ...entriesOf(entered)]);
    },
  };
}

const noCall = async () => {
  throw new RangeError('no calls');
};

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

/** The fields of the form on a page that has a button with this value, as a browser sends them when it is pressed. */
export function fieldsOf(html: string, value: string): [string, string][] {
  const forms = html.match(/<form method="post".*?<\/form>/gs) ?? [];
  const button = new RegExp(`<button [^>]*name="([^"]*)" value="${value}"`);
  const form = forms.find((one) => button.test(one)) ?? '';
  const [, name] = button.exec(form) ?? [];
  if (name === undefined) throw new Error(`no form has the button ${value}`);
  const inputs = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)];
  const fields = inputs.map(([, field = '', text = '']): [string, string] => [field, text]);
  return [...fields, [name, value]];
}
