/** A request, whichever server received it. */
export type HttpRequest = {
  readonly method: string;
  /** Percent-decoded, without the query. */
  readonly path: string;
  header(name: string): string | null;
  /**
   * The body's exact bytes.
   *
   * @throws Problem 413 for a larger body, 408 for one that did not arrive completely
   */
  body(limitBytes: number): Promise<Uint8Array>;
};

export type HttpResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type Handler = (request: HttpRequest) => Promise<HttpResponse>;

/** Handles requests of one route. `identify` names what a request is about, for the log. */
export type Endpoint = (
  request: HttpRequest,
  identify: (ids: object) => void,
) => Promise<HttpResponse>;

/** Headers of every response: it must not be cached, or read as anything but JSON. */
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
