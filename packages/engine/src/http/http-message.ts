// A request and a response, whichever server has received it; the errors that are responses; and how a secret in a
// request is compared.

import { createHash, timingSafeEqual } from 'node:crypto';
import { InstepError } from '../runtime/errors.ts';

/** A request, whichever server received it. */
export type HttpRequest = {
  readonly method: string;
  /** Percent-decoded, without the query. */
  readonly path: string;
  /** The query, without its question mark; none where no route reads it. */
  query?(): string;
  header(name: string): string | null;
  /**
   * The body's exact bytes.
   *
   * @throws HttpError 413 for a larger body, 408 for one that did not arrive completely
   */
  body(limitBytes: number): Promise<Uint8Array>;
};

export type HttpResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type Handler = (request: HttpRequest) => Promise<HttpResponse>;

/** Names what a request is about, for the log. */
export type Identify = (ids: object) => void;

export type Endpoint = (request: HttpRequest, identify: Identify) => Promise<HttpResponse>;

/** Headers of every response: it must not be cached, or read as another type than the one that it states. */
const COMMON_HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
};

/** Complete headers, so that headers that are sent often are created only once. */
export function headersWith(others: HttpResponse['headers']): HttpResponse['headers'] {
  return { ...COMMON_HEADERS, ...others };
}

export function jsonResponse(
  value: unknown,
  {
    status = 200,
    headers = COMMON_HEADERS,
  }: { status?: number; headers?: HttpResponse['headers'] } = {},
): HttpResponse {
  return { status, headers, body: JSON.stringify(value) };
}

/** The percent-decoded path of a URL; unchanged if it can't be decoded. */
export function decodePath(pathname: string): string {
  try {
    return decodeURI(pathname);
  } catch {
    return pathname;
  }
}

/** The path of the profile in Instep's own routes; an app can mount it elsewhere. */
export const USER_PATH = '/api/user';

/** A refused request: `{"error": …}`, or plain text for the profile, with a status that says why. */
export class HttpError extends InstepError {
  readonly code = 'HTTP_ERROR';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headersWith(headers);
  }

  /**
   * The response to a request of this path. An app that reads a profile without a look at the status would take
   * a JSON error for a user (docs/contract.md), but can't parse text.
   */
  toResponse(path: string): HttpResponse {
    if (path !== USER_PATH) return jsonResponse({ error: this.message }, this);
    const headers = { ...this.headers, 'Content-Type': 'text/plain; charset=utf-8' };
    return { status: this.status, headers, body: `${this.message}\n` };
  }
}

export const notFound = () => new HttpError(404, 'Not found.');

export const methodNotAllowed = (allow: string) =>
  new HttpError(405, 'Method not allowed.', { Allow: allow });

export const bodyTooLarge = (limitBytes: number) =>
  new HttpError(413, `The body is larger than ${limitBytes} bytes.`);

export const internalError = () => new HttpError(500, 'Internal error.');

/** Stripe sends the event again; browsers and load balancers wait as long as the header says. */
export const unavailable = () =>
  new HttpError(503, 'Temporarily unavailable. Try again.', { 'Retry-After': '5' });

const hash = (text: string) => createHash('sha256').update(text).digest();

/** Compares two secrets in a time that reveals neither their content nor their length. */
export function isSameSecret(a: string, b: string): boolean {
  return timingSafeEqual(hash(a), hash(b));
}
