import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { FairReads } from './fair-reads.ts';
import type { Handler, HttpRequest, HttpResponse } from './http-message.ts';
import { hostInvalid, targetInvalid } from './problems.ts';
import { readBody } from './read-body.ts';
import { decodePath } from './router.ts';

/** Serves `handle`, which never throws, on a server of `node:http`. */
export function createNodeListener(handle: Handler): RequestListener {
  const fairReads = new FairReads();
  return (request, response) => {
    const path = pathOf(request.url ?? '');
    if (!HOST.test(request.headers.host ?? '')) {
      send(request, response, hostInvalid().toResponse());
    } else if (path === null) {
      send(request, response, targetInvalid().toResponse());
    } else {
      void handle(toHttpRequest(request, path)).then((result) => {
        const isCrowded = result.status === 503 || fairReads.isCrowded;
        if (isCrowded && request.method === 'POST') fairReads.waitAfter(request, response);
        send(request, response, result);
      });
    }
  };
}

/**
 * Empty for HTTP/1.0, which some health checks still speak. Two of them are joined by a comma, and
 * refused: proxies differ in which one they take (RFC 9112, section 3.2).
 */
const HOST = /^[\w.:[\]-]*$/;

/** Needs no normalization. */
const PLAIN_PATH = /^\/[\w/-]*$/;

/** The path of a request's target, which may be an absolute URL; `null` when it is not valid. */
function pathOf(target: string): string | null {
  if (PLAIN_PATH.test(target)) return target;
  const url = target.startsWith('/') ? `http://localhost${target}` : target;
  if (target.includes('\\') || !URL.canParse(url)) return null;
  const { protocol, pathname } = new URL(url);
  return /^https?:$/.test(protocol) ? decodePath(pathname) : null;
}

function toHttpRequest(request: IncomingMessage, path: string): HttpRequest {
  const { method = '', headers } = request;
  const header = (name: string) => {
    const value = headers[name];
    return typeof value === 'string' ? value : null;
  };
  return {
    method,
    path,
    header,
    body: (limitBytes) => readBody(request, header('content-length'), limitBytes),
  };
}

function send(request: IncomingMessage, response: ServerResponse, result: HttpResponse): void {
  const { status, headers, body } = result;
  if (hasMuchLeft(request)) response.setHeader('Connection', 'close');
  response.writeHead(status, { 'Content-Length': Buffer.byteLength(body), ...headers });
  response.end(body);
}

/** Node reads and discards what is left of a body: a little is worth keeping the connection. */
const MAX_DISCARDED_BYTES = 262_144;

function hasMuchLeft({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  const declared = Number(headers['content-length'] ?? 0);
  return headers['transfer-encoding'] !== undefined || declared > MAX_DISCARDED_BYTES;
}
