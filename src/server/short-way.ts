import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Answer } from './answer.ts';
import type { Call, Route } from './call.ts';
import { bodyCutOff, bodyTooLarge } from './problems.ts';

/**
 * Answers the requests that are nearly all there are, those of exactly a route's method and path
 * and with nothing odd about them, without a framework: that took a third of a profile's time.
 * Whatever is odd in any way goes on to `listener`.
 */
export function withShortWay(listener: RequestListener, routes: readonly Route[]) {
  const byName = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]));
  const answers: RequestListener = (request, response) => {
    const route = byName.get(`${request.method} ${request.url}`);
    if (route === undefined || !isPlain(request)) listener(request, response);
    else void route.handle(toCall(request)).then((answer) => send(response, answer));
  };
  return answers;
}

/** The body of a POST has a length, and a small one; there is one host, of what hosts consist of. */
function isPlain({ method, headers, rawHeaders }: IncomingMessage): boolean {
  const isSmall = method === 'GET' || Number(headers['content-length']) <= MAX_BODY_BYTES;
  if (!isSmall || headers.host === undefined || !PLAIN_HOST.test(headers.host)) return false;
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (HOST.test(rawHeaders[index] ?? '')) hosts += 1;
  }
  return hosts === 1;
}

/** No event comes near to it. What is refused unread is little enough to be read after all. */
const MAX_BODY_BYTES = 262_144;

const PLAIN_HOST = /^[\w.:[\]-]+$/;
const HOST = /^host$/i;

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { 'Content-Length': Buffer.byteLength(body), ...headers });
  response.end(body);
}

function toCall(request: IncomingMessage): Call {
  return {
    header(name) {
      const value = request.headers[name];
      return typeof value === 'string' ? value : null;
    },
    body: (limitBytes) => readBody(request, limitBytes),
  };
}

/** As long as was declared, which the server sees to. */
function readBody(request: IncomingMessage, limitBytes: number): Promise<Uint8Array> {
  if (Number(request.headers['content-length']) > limitBytes) throw bodyTooLarge(limitBytes);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () => resolve(Buffer.concat(chunks)));
    request.once('error', () => reject(bodyCutOff()));
  });
}
