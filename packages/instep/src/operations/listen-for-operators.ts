import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Exposition } from '../metrics/series.ts';
import type { TokenVerdict } from '../operate/console-package.ts';
import type { Logger } from '../runtime/logging.ts';
import { type ListenerOptions, openListener, type RunningServer } from '../server/listener.ts';
import { requestPath } from '../server/node-listener.ts';
import { SYNC_API_PATH } from './sync-api.ts';

type ListenForOperatorsOptions = Pick<ListenerOptions, 'host' | 'port'> & {
  logger: Logger;
  /** `null`: everyone on this machine has access. */
  checkToken: ((token: string) => Promise<TokenVerdict>) | null;
};

/** What operators see. */
type Shown = {
  metrics: Exposition;
  /** The console, which has its own login; `null` when it is not installed. */
  pages: RequestListener | null;
  /** The calls of `createSyncApi`. */
  syncApi: RequestListener;
};

type OperatorsListener = RunningServer & {
  /** Serves these. Until then every request gets a 503. */
  show(shown: Shown): void;
};

/** A browser opens up to six connections. */
export const MAX_OPERATORS_CONNECTIONS = 48;

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

const CONSOLE_MISSING = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Instep</title>
<h1>The console is not installed</h1>
<p>Run <code>npm install instep-console</code>, and restart Instep.
<p><a href="/metrics">Metrics</a> are available without it.
`;

/**
 * Takes the operators' port, and serves `GET /metrics`, two calls for apps and the console there. @throws ListenFailed
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
    const { metrics, pages, syncApi } = shown;
    const path = requestPath(request);
    if (path === '/metrics') return await answerMetrics(request, response, metrics);
    if (path?.startsWith(SYNC_API_PATH)) {
      // Without a token, any page that a browser shows could send these requests to `localhost`.
      if (checkToken === null) return send(response, 403, 'Set OPS_TOKEN to use this call.\n');
      if (await hasToken(request, response)) syncApi(request, response);
      return;
    }
    if (pages !== null) pages(request, response);
    else send(response, 501, CONSOLE_MISSING, 'text/html; charset=utf-8');
  }

  async function answerMetrics(
    request: IncomingMessage,
    response: ServerResponse,
    metrics: Exposition,
  ): Promise<void> {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      return send(response, 405, 'Metrics can only be read.\n');
    }
    if (!(await hasToken(request, response))) return;
    send(response, 200, await metrics.expose(), metrics.contentType);
  }

  /** Whether the request has the token, or needs none. Otherwise it is answered. */
  async function hasToken(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    // The scheme is case-insensitive (RFC 9110, 11.1).
    const [, token] = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? [];
    const verdict =
      checkToken === null ? 'right' : token === undefined ? 'wrong' : await checkToken(token);
    if (verdict === 'right') return true;
    response.setHeader('WWW-Authenticate', 'Bearer');
    if (verdict === 'wrong') send(response, 401, 'Send OPS_TOKEN as a bearer token.\n');
    else send(response, 429, 'Too many wrong tokens. Wait 1 minute, then try again.\n');
    return false;
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
