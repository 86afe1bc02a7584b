// The operators' listener: metrics, the console, and the calls for apps, behind tokens. `instep serve`, `instep console`
// and the demo open it.

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import {
  isSameSecret,
  type ListenerOptions,
  openListener,
  type RunningServer,
  requestPath,
} from 'instep-engine/http';
import { type Logger, limitLines } from 'instep-engine/runtime';
import type { Exposition } from '../metrics/metrics.ts';
import type { ConsoleUser, TokenVerdict } from '../operate/context.ts';
import type { NamedToken } from '../operate/roles.ts';

/** A browser opens up to six connections. */
const MAX_OPERATORS_CONNECTIONS = 48;

type TokenCheckOptions = {
  tokens: readonly NamedToken[];
  logger: Logger;
  wait: (delayMs: number) => Promise<void>;
};

const DELAY_MS = 1_000;
const MAX_WAITING = 20;

/**
 * Finds out whose token it is. A wrong one is answered a second later. A right one never waits, so the attempts of others can't
 * lock an operator out. While 20 wrong ones wait, others are `too many`, which bounds the memory.
 */
export function createTokenCheck({ tokens, wait, logger }: TokenCheckOptions) {
  let waiting = 0;
  const write = limitLines((members) => logger.warn(members, 'wrong operations token'));

  return async (text: string): Promise<TokenVerdict> => {
    // All are compared: the time must not reveal which one is the right one.
    const [holder] = tokens.filter(({ token }) => isSameSecret(text, token));
    if (holder !== undefined) return { name: holder.name, role: holder.role };
    write({ waiting });
    if (waiting >= MAX_WAITING) return 'too many';
    waiting += 1;
    await wait(DELAY_MS);
    waiting -= 1;
    return 'wrong';
  };
}

type ListenForOperatorsOptions = Pick<ListenerOptions, 'host' | 'port'> & {
  logger: Logger;
  /** `null`: everyone on this machine has access. */
  checkToken: ((token: string) => Promise<TokenVerdict>) | null;
};

/** The calls for apps in other languages begin with this path. */
const CALLS_PATH = '/v1/';

/** What operators see. */
type Shown = {
  /** `null` in a process that only runs the console. */
  metrics: Exposition | null;
  /** The console, which has its own login; `null` when it is not installed. */
  pages: RequestListener | null;
  /** The calls for apps, by the name of who makes them. */
  syncApis: ReadonlyMap<string, RequestListener>;
};

type OperatorsListener = RunningServer & {
  /** Serves these. Until then every request gets a 503. */
  show(shown: Shown): void;
};

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

const CONSOLE_MISSING =
  'The console is not installed. Run `npm install instep-console`, and restart Instep. /metrics is available without it.\n';

/** What proxies add to the requests that they pass on. */
const PROXY_HEADERS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/**
 * Takes the operators' port, and serves `GET /metrics`, the calls for apps and the console there. @throws ListenFailed
 */
export async function listenForOperators({
  host,
  port,
  logger,
  checkToken,
}: ListenForOperatorsOptions): Promise<OperatorsListener> {
  let shown: Shown | undefined;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (shown === undefined) {
      response.setHeader('Retry-After', '1');
      return send(response, 503, 'Instep is starting. Retry in a few seconds.\n');
    }
    // Prevents DNS rebinding: another site can make its own name resolve to this machine, but it can't make a
    // browser send our names as `Host`.
    if (checkToken === null && !LOOPBACK.test(request.headers.host ?? '')) {
      const remedy = 'Open it there, or set OPS_TOKEN.';
      return send(response, 403, `Without OPS_TOKEN, only localhost is answered. ${remedy}\n`);
    }
    // A proxy on this machine would pass on requests of everybody.
    if (checkToken === null && PROXY_HEADERS.some((name) => request.headers[name] !== undefined)) {
      return send(response, 403, 'Without OPS_TOKEN, no proxy is answered. Set OPS_TOKEN.\n');
    }
    const { metrics, pages, syncApis } = shown;
    const path = requestPath(request);
    if (path === '/metrics') return await answerMetrics(request, response, metrics);
    if (path?.startsWith(CALLS_PATH)) {
      // Without a token, any page that a browser shows could send these requests to `localhost`.
      if (checkToken === null) return send(response, 403, 'Set OPS_TOKEN to use this call.\n');
      const user = await holderOf(request, response);
      // Even reading changes adds a consumer.
      if (user?.role === 'viewer')
        send(response, 403, 'Only the token of an operator can call this.\n');
      else if (user !== null) syncApis.get(user.name)?.(request, response);
      return;
    }
    if (pages !== null) pages(request, response);
    else send(response, 501, CONSOLE_MISSING);
  }

  async function answerMetrics(
    request: IncomingMessage,
    response: ServerResponse,
    metrics: Exposition | null,
  ): Promise<void> {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      return send(response, 405, 'Metrics can only be read.\n');
    }
    if (checkToken !== null && (await holderOf(request, response)) === null) return;
    if (metrics === null)
      return send(response, 404, 'The processes that run Instep have metrics.\n');
    send(response, 200, await metrics.expose(), metrics.contentType);
  }

  /** Whose token the request has. With `null`, it is answered. */
  async function holderOf(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<ConsoleUser | null> {
    // The scheme is case-insensitive (RFC 9110, 11.1).
    const [, token] = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? [];
    const verdict = token === undefined ? 'wrong' : await checkToken?.(token);
    if (typeof verdict === 'object') return verdict;
    response.setHeader('WWW-Authenticate', 'Bearer');
    if (verdict === 'too many') {
      send(response, 429, 'Too many wrong tokens. Wait 1 minute, then try again.\n');
    } else {
      send(response, 401, 'Send OPS_TOKEN as a bearer token.\n');
    }
    return null;
  }

  return {
    ...(await openListener({
      host,
      port,
      portVariable: 'OPS_PORT',
      logger,
      maxConnections: MAX_OPERATORS_CONNECTIONS,
      onRequest(request, response) {
        answer(request, response).catch((err: unknown) => {
          logger.error({ err }, 'operations request failed');
          if (response.headersSent) response.destroy();
          else send(response, 500, 'The server log says what happened.\n');
        });
      },
    })),
    show(given) {
      shown = given;
    },
  };
}

function send(
  response: ServerResponse,
  status: number,
  body: string,
  contentType = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, {
    'Content-Type': contentType,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(body);
}
