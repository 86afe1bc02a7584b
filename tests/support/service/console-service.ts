import { createLogger, type Exposition, type RunningServer } from 'instep';
import { toNodeListener } from 'instep-console';
import { createPages } from 'instep-console/src/pages.tsx';
import type { NamedToken } from 'instep-operate';
import { afterAll, beforeAll } from 'vitest';
import type { Database } from '../internals/database.ts';
import { createContext, createTokenCheck, listenForOperators } from '../internals/operations.ts';
import { connect, createDatabase } from '../postgres/test-database.ts';
import { checkOutput } from '../secrets/leaks.ts';
import { API_KEY } from '../secrets/test-secrets.ts';

type ConsoleServiceOptions = {
  /** None by default: everyone on this machine is an operator. */
  readonly tokens?: readonly NamedToken[];
  readonly metrics?: Exposition;
  /** Adds routes for the test. */
  readonly extend?: (app: ReturnType<typeof createPages>) => void;
  /** A new database by default. */
  readonly databaseUrl?: URL;
};

/** The console over HTTP for the tests of a suite, with a clock that the tests set. */
export function useConsole({
  tokens = [],
  metrics,
  extend,
  databaseUrl,
}: ConsoleServiceOptions = {}) {
  let server: RunningServer;
  let database: Database;
  const clock = { nowMs: Date.now() };
  const waits: number[] = [];
  const lines: Record<string, unknown>[] = [];

  beforeAll(async () => {
    database = databaseUrl === undefined ? (await createDatabase()).database : connect(databaseUrl);
    const logger = createLogger('info', {
      write(line) {
        checkOutput(['the console'], line);
        lines.push(JSON.parse(line));
      },
    });
    const now = () => clock.nowMs;
    const context = createContext({
      database,
      stripeApi: { secretKey: API_KEY, baseUrl: new URL('http://127.0.0.1:1') },
      planSelection: 'newest',
      logger,
      now,
      close: async () => undefined,
    });
    const wait = async (delayMs: number) => void waits.push(delayMs);
    const checkToken = tokens.length === 0 ? null : createTokenCheck({ tokens, logger, wait });
    const app = createPages({
      ...context,
      basePath: '',
      access: checkToken === null ? { kind: 'local' } : { kind: 'login', tokens, checkToken },
    });
    extend?.(app);
    const listener = await listenForOperators({ host: '127.0.0.1', port: 0, logger, checkToken });
    const pages = toNodeListener(async (request) => await app.fetch(request));
    listener.show({ metrics: metrics ?? null, pages, syncApis: new Map() });
    server = listener;
  });
  afterAll(() => server?.close(1_000));

  return {
    get url() {
      return server.url;
    },
    get database() {
      return database;
    },
    clock,
    /** The delays after wrong tokens. */
    waits,
    lines,
    newOperator: () => new Operator(() => server.url),
  };
}

/** Acts like a browser: keeps cookies and sends forms. */
export class Operator {
  readonly cookies = new Map<string, string>();
  readonly #url: () => string;

  constructor(url: () => string) {
    this.#url = url;
  }

  /** Does not follow redirects. */
  async get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return await this.#send(path, { headers: { accept: 'text/html', ...headers } });
  }

  /** Sends a form with the headers of a same-origin request. */
  async post(
    path: string,
    fields: Record<string, string> | [string, string][],
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return await this.#send(path, {
      method: 'POST',
      headers: { accept: 'text/html', origin: this.#url(), ...headers },
      body: new URLSearchParams(fields),
    });
  }

  async logIn(token: string, next = '/'): Promise<Response> {
    return await this.post('/login', { token, next });
  }

  async #send(path: string, request: RequestInit): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(this.#url() + path, {
      ...request,
      redirect: 'manual',
      headers: { ...request.headers, ...(cookie && { cookie }) },
    });
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }
}
