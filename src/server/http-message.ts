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

/** On every response: none may be cached, or read as anything but JSON. */
const COMMON_HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
};

/** Complete headers, made once where the same ones are sent again and again. */
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

/** The path of a URL with its percent signs decoded; as it stands when they can't be. */
export function decodePath(pathname: string): string {
  try {
    return decodeURI(pathname);
  } catch {
    return pathname;
  }
}
