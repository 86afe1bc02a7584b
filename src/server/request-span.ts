import { inSpanOfCaller, markFailed, SpanKind } from '../runtime/tracing.ts';
import type { Handler, HttpResponse } from './http-message.ts';
import type { Route } from './router.ts';

/** Runs the handler in a span, errors included. Only the server's own failures mark it as failed. */
export function inRequestSpans(
  { method, path }: Pick<Route, 'method' | 'path'>,
  handler: Handler,
  responseTo: (error: unknown) => HttpResponse,
): Handler {
  const name = `${method} ${path}`;
  const attributes = { 'http.request.method': method, 'http.route': path };
  const description = { kind: SpanKind.SERVER, attributes };
  return (request) =>
    inSpanOfCaller(request, name, description, async (span) => {
      const response = await handler(request).catch((error: unknown) => {
        const response = responseTo(error);
        if (response.status >= 500) markFailed(span, error);
        return response;
      });
      span.setAttribute('http.response.status_code', response.status);
      return response;
    });
}
