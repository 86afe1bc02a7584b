// Between node:http and a `Handler`: on our own listeners, and on the server of an app (adapters/node.ts).

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { errorText } from '../runtime/errors.ts';
import {
  bodyTooLarge,
  decodePath,
  type Handler,
  HttpError,
  type HttpRequest,
  type HttpResponse,
  internalError,
} from './http-message.ts';
import { BodyAlreadyRead, REQUEST_TIMEOUT_MS, readBody, UnfinishedBodies } from './read-body.ts';

/**
 * Serves `handle` on a server of `node:http`, which can be an app's own. If `handle` throws, `onFailure` is called
 * and the response is 500. Never throws or rejects, because that would end the process of the app, and leaves
 * responses alone that the app has begun itself.
 */
export function createNodeListener(
  handle: Handler,
  onFailure: (failure: { err: unknown; [member: string]: unknown }) => void = warn,
): RequestListener {
  const unfinished = new UnfinishedBodies();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method } = request;
    const path = requestPath(request);
    const refuse = (reason: string) =>
      send(request, response, new HttpError(400, reason).toResponse(path ?? ''));
    if (!HOST.test(request.headers.host ?? '')) {
      return refuse('The Host header must contain exactly one valid host.');
    }
    if (path === null) return refuse('The request target is not a valid path.');
    try {
      send(request, response, await handle(toHttpRequest(request, path, unfinished)));
    } catch (err) {
      onFailure({ err, method, path });
      send(request, response, internalError().toResponse(path));
    }
  }

  return (request, response) => {
    answer(request, response).catch((err: unknown) => {
      // The app's own logger or response threw.
      warn({ err });
      if (!response.headersSent) response.destroy();
    });
  };
}

function warn({ err }: { err: unknown }): void {
  process.emitWarning(`instep: ${errorText(err)}`);
}

/**
 * Can be empty for HTTP/1.0, which some health checks still use. Two headers are joined by a comma and
 * refused, because proxies differ in which one they use (RFC 9112, section 3.2).
 */
const HOST = /^[\w.:[\]-]*$/;

/** A path that needs no normalization. */
const PLAIN_PATH = /^\/[\w/-]*$/;

/** The path of a request's target, which may be an absolute URL; `null` when it is not valid. */
export function requestPath(request: IncomingMessage): string | null {
  // Express removes the prefix of a mounted handler from `url`.
  if ('originalUrl' in request && typeof request.originalUrl === 'string') {
    return pathOf(request.originalUrl);
  }
  return pathOf(request.url);
}

function pathOf(target = ''): string | null {
  if (PLAIN_PATH.test(target)) return target;
  const url = target.startsWith('/') ? `http://localhost${target}` : target;
  if (target.includes('\\') || !URL.canParse(url)) return null;
  const { protocol, pathname } = new URL(url);
  return /^https?:$/.test(protocol) ? decodePath(pathname) : null;
}

function toHttpRequest(
  request: IncomingMessage,
  path: string,
  unfinished: UnfinishedBodies,
): HttpRequest {
  const { method = '', headers } = request;
  const header = (name: string) => {
    const value = headers[name];
    return typeof value === 'string' ? value : null;
  };
  return {
    method,
    path,
    query: () => /\?([^#]*)/.exec(request.url ?? '')?.[1] ?? '',
    header,
    async body(limitBytes) {
      const given = exactBody(request);
      if (given !== null) {
        if (given.byteLength > limitBytes) throw bodyTooLarge(limitBytes);
        return given;
      }
      if (request.readableDidRead) throw new BodyAlreadyRead();
      const declaredLength = header('content-length');
      const read = (onChunk: (chunk: Uint8Array) => boolean) => readChunks(request, onChunk);
      const abort = () => request.destroy();
      return await readBody({ declaredLength, unfinished, read, abort }, limitBytes);
    },
  };
}

/**
 * The exact bytes of a body that the app has read: `express.raw()` leaves them in `body`, and NestJS, Firebase and Cloud
 * Functions in `rawBody`, beside a parsed `body`.
 */
function exactBody(request: IncomingMessage): Uint8Array | null {
  if ('rawBody' in request && request.rawBody instanceof Uint8Array) return request.rawBody;
  return 'body' in request && request.body instanceof Uint8Array ? request.body : null;
}

/** Sets the same deadline as `instep serve`, because an app's own server can allow much more time. */
async function readChunks(
  request: IncomingMessage,
  onChunk: (chunk: Uint8Array) => boolean,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise((resolve, reject) => {
      // A request that is destroyed without an error only closes.
      request.on('data', onChunk).once('end', resolve).once('error', reject).once('close', reject);
      timer = setTimeout(reject, REQUEST_TIMEOUT_MS);
    });
  } finally {
    clearTimeout(timer);
    request.off('data', onChunk).resume();
  }
}

function send(request: IncomingMessage, response: ServerResponse, result: HttpResponse): void {
  // The app has answered the request itself, or the client has left.
  if (response.headersSent || response.writableEnded || response.destroyed) return;
  const { status, headers, body } = result;
  response.writeHead(status, { 'Content-Length': Buffer.byteLength(body), ...headers });
  response.end(body);
  if (request.complete) return;
  setTimeout(() => {
    if (!request.complete) request.destroy();
  }, LINGER_MS).unref();
}

/** The time for the sender of a discarded body to complete it, and to read the response. */
const LINGER_MS = 2_000;
