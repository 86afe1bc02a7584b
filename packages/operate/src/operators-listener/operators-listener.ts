// The operators' port: metrics, the console, and the calls for apps, behind tokens. `instep serve`, `instep console` and the
// demo open it.

import type { RequestListener } from 'node:http';
import {
  createNodeListener,
  HttpError,
  type HttpRequest,
  type HttpResponse,
  headersWith,
  isSameSecret,
  type ListenerOptions,
  methodNotAllowed,
  openListener,
  type RunningServer,
  requestPath,
} from 'instep-engine/http';
import { type Logger, limitLines } from 'instep-engine/runtime';
import type { Exposition } from '../metrics/metrics.ts';
import type { CheckToken, ConsoleUser } from '../operate/context.ts';
import type { NamedToken } from '../operate/roles.ts';

/** Finds out whose token it is. No delay is needed: tokens are too long to be guessed. */
export function createTokenCheck(tokens: readonly NamedToken[], logger: Logger): CheckToken {
  const warn = limitLines((members) => logger.warn(members, 'wrong operations token'));
  return (text) => {
    // All are compared: the time must not reveal which one is the right one.
    const [holder] = tokens.filter(({ token }) => isSameSecret(text, token));
    if (holder !== undefined) return { name: holder.name, role: holder.role };
    warn({});
    return null;
  };
}

type ListenForOperatorsOptions = Pick<ListenerOptions, 'host' | 'port' | 'logger'> & {
  /** `null`: everyone on this machine has access. */
  checkToken: CheckToken | null;
};

/** What operators see. */
type Shown = {
  /** `null` in a process that only runs the console. */
  metrics: Exposition | null;
  /** The console, which has its own login; `null` when it is not installed. */
  pages: RequestListener | null;
  /** Answers the calls for apps, in the name of this user. */
  answerCall: (request: HttpRequest, user: ConsoleUser) => Promise<HttpResponse>;
};

type OperatorsListener = RunningServer & {
  /** Serves these. Until then every request gets a 503. */
  show(shown: Shown): void;
};

/** A browser opens up to six connections. */
const MAX_OPERATORS_CONNECTIONS = 48;

const METRICS_PATH = '/metrics';

/** The calls for apps in other languages begin with this path. */
const CALLS_PATH = '/v1/';

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/** What proxies add to the requests that they pass on. */
const PROXY_HEADERS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/** Takes the operators' port. @throws ListenFailed */
export async function listenForOperators({
  host,
  port,
  logger,
  checkToken,
}: ListenForOperatorsOptions): Promise<OperatorsListener> {
  let shown: Shown | undefined;

  /** Why a request is refused that needs no token. */
  function refusalOf(header: (name: string) => string | null): string | null {
    if (checkToken !== null) return null;
    // Prevents DNS rebinding: another site can make its own name resolve to this machine, but it can't make a
    // browser send our names as `Host`.
    if (!LOOPBACK.test(header('host') ?? '')) {
      return 'Without OPS_TOKEN, only localhost is answered. Open it there, or set OPS_TOKEN.';
    }
    // A proxy on this machine would pass on requests of everybody.
    const isForwarded = PROXY_HEADERS.some((name) => header(name) !== null);
    return isForwarded ? 'Without OPS_TOKEN, no proxy is answered. Set OPS_TOKEN.' : null;
  }

  /** Whose token the request has. @throws HttpError 401 */
  function holderOf(request: HttpRequest, check: CheckToken): ConsoleUser {
    // The scheme is case-insensitive (RFC 9110, 11.1).
    const [, token] = /^bearer +(\S+) *$/i.exec(request.header('authorization') ?? '') ?? [];
    const holder = token === undefined ? null : check(token);
    if (holder !== null) return holder;
    const headers = { 'WWW-Authenticate': 'Bearer' };
    throw new HttpError(401, 'Send OPS_TOKEN as a bearer token.', headers);
  }

  /** Answers all but the console's pages. */
  async function answer(request: HttpRequest): Promise<HttpResponse> {
    const { method, path } = request;
    if (shown === undefined) {
      const headers = { 'Retry-After': '1' };
      throw new HttpError(503, 'Instep is starting. Retry in a few seconds.', headers);
    }
    const refusal = refusalOf(request.header);
    if (refusal !== null) throw new HttpError(403, refusal);
    const { metrics, answerCall } = shown;
    if (path === METRICS_PATH) {
      if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed('GET, HEAD');
      if (checkToken !== null) holderOf(request, checkToken);
      if (metrics === null) throw new HttpError(404, 'The processes that run Instep have metrics.');
      const headers = headersWith({ 'Content-Type': metrics.contentType });
      return { status: 200, headers, body: await metrics.expose() };
    }
    if (path.startsWith(CALLS_PATH)) {
      // Without a token, any page that a browser shows could send these requests to `localhost`.
      if (checkToken === null) throw new HttpError(403, 'Set OPS_TOKEN to use this call.');
      const user = holderOf(request, checkToken);
      if (user.role === 'operator') return await answerCall(request, user);
      throw new HttpError(403, 'Only the token of an operator can call this.');
    }
    const remedy = 'Run `npm install instep-console`, and restart Instep';
    const message = `The console is not installed. ${remedy}. /metrics is available without it.`;
    throw new HttpError(501, message);
  }

  async function handle(request: HttpRequest): Promise<HttpResponse> {
    try {
      return await answer(request);
    } catch (error) {
      if (error instanceof HttpError) return error.toResponse(request.path);
      throw error;
    }
  }

  const serve = createNodeListener(handle, (failure) =>
    logger.error(failure, 'operations request failed'),
  );
  const listener = await openListener({
    ...{ host, port, portVariable: 'OPS_PORT', logger },
    maxConnections: MAX_OPERATORS_CONNECTIONS,
    onRequest(request, response) {
      const path = requestPath(request) ?? METRICS_PATH;
      const isOwn = path === METRICS_PATH || path.startsWith(CALLS_PATH);
      const header = (name: string) => request.headers[name]?.toString() ?? null;
      const pages = isOwn || refusalOf(header) !== null ? null : shown?.pages;
      (pages ?? serve)(request, response);
    },
  });
  return {
    ...listener,
    show(given) {
      shown = given;
    },
  };
}
