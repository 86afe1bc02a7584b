import type { RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import {
  type ConsoleHandler,
  type ConsoleLogin,
  type ConsoleUser,
  createLogger,
  type Logger,
  type OperateContext,
  type Operated,
} from 'instep-operate';
import { type Access, isConsoleUser } from './access/access.ts';
import { checkBasePath, pathBelow } from './base-path.ts';
import { createPages, type Pages } from './pages.tsx';

export type { ConsoleHandler, ConsoleUser } from 'instep-operate';

export type ConsoleOptions = {
  /**
   * What `createHandler` or `openInstep` returned. A process without one connects with `openContext` of `instep/operate`:
   * `{ operateContext: () => openContext() }`.
   */
  readonly instep: Operated;
  /** Logs what could not be answered to standard output by default. */
  readonly logger?: Logger;
  /** Finds the signed-in user of a request; `null` without one, or without permission. */
  readonly authorize: (request: Request) => ConsoleUser | null | Promise<ConsoleUser | null>;
  /** The path that the console is mounted at, such as `/admin/billing`; at the root by default. */
  readonly basePath?: string;
};

/**
 * The operators' pages, for a route of your app. The first request of an authorized user connects to the database.
 * An operator sees and does everything. The actions of a viewer get a 403, and payloads come without personal data.
 *
 * @throws TypeError when `basePath` is not a path
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 * import { createConsole } from 'instep-console';
 *
 * const instep = createHandler({ maintenance: 'off' });
 * const console = createConsole({
 *   instep,
 *   basePath: '/admin/billing',
 *   authorize: async (request) =>
 *     request.headers.get('cookie') === null ? null : { name: 'user:7', role: 'operator' },
 * });
 * const response = await console(new Request('http://localhost/admin/billing'));
 * response.status; // 401
 * ```
 */
export function createConsole(options: ConsoleOptions): ConsoleHandler {
  const { instep, authorize, basePath = '', logger = createLogger('info') } = options;
  checkBasePath(basePath);
  const open = openPages(() => instep.operateContext(), { kind: 'application' }, basePath);

  async function answer(request: Request): Promise<Response> {
    if (pathBelow(basePath, request.url) === null) return plain(404, 'Not found.');
    const user = await authorize(request);
    if (user === null) return plain(401, 'Sign in to see this page.');
    if (!isConsoleUser(user)) throw new TypeError('authorize must resolve with a name and a role');
    const pages = await open.pages();
    return await pages.fetch(request, { user });
  }

  return Object.assign(
    async (request: Request) => {
      try {
        return await answer(request);
      } catch (err) {
        logger.error({ err }, 'the console could not answer');
        return plain(503, 'The console is not available. The server log says why.');
      }
    },
    { close: open.close },
  );
}

/** The console of `instep serve`, at the root of a listener of its own. */
export function createConsoleWithLogin({
  instep,
  login,
}: {
  readonly instep: Operated;
  readonly login: ConsoleLogin | null;
}): ConsoleHandler {
  const access: Access = login === null ? { kind: 'local' } : { kind: 'login', ...login };
  const open = openPages(() => instep.operateContext(), access, '');
  return Object.assign(async (request: Request) => await (await open.pages()).fetch(request), {
    close: open.close,
  });
}

type OpenedPages = {
  pages(): Promise<Pages>;
  close(): Promise<void>;
};

/** Opens the pages on the first request. A failed start is forgotten, so the next request starts again. */
function openPages(
  openContext: () => Promise<OperateContext>,
  access: Access,
  basePath: string,
): OpenedPages {
  let opened: Promise<Pages> | undefined;

  async function open(): Promise<Pages> {
    const context = await openContext();
    return createPages({ ...context, access, basePath });
  }

  return {
    pages() {
      if (opened !== undefined) return opened;
      const opening = open();
      opened = opening;
      opening.catch(() => {
        if (opened === opening) opened = undefined;
      });
      return opening;
    },
    async close() {
      const closing = opened;
      opened = undefined;
      // A failed start left nothing open, and its request got the error.
      const pages = await closing?.catch(() => undefined);
      await pages?.close();
    },
  };
}

/**
 * Serves the console with `node:http` or Express. As middleware of Express, mount it at `basePath`.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { createConsole, toNodeListener } from 'instep-console';
 * import { openContext } from 'instep-operate';
 *
 * const console = createConsole({
 *   instep: { operateContext: () => openContext() },
 *   authorize: () => ({ name: 'user:7', role: 'viewer' }),
 * });
 * const server = createServer(toNodeListener(console));
 * ```
 */
export function toNodeListener(handler: (request: Request) => Promise<Response>): RequestListener {
  const listener = getRequestListener(handler, {
    hostname: 'localhost',
    overrideGlobalObjects: false,
  });
  return (request, response) => {
    // Express removes the prefix of a mounted handler from `url`.
    if ('originalUrl' in request && typeof request.originalUrl === 'string') {
      request.url = request.originalUrl;
    }
    return listener(request, response);
  };
}

function plain(status: number, text: string): Response {
  return new Response(`${text}\n`, {
    status,
    headers: { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' },
  });
}
