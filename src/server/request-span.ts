import { inSpanOfCaller, markFailed, SpanKind } from '../runtime/tracing.ts';
import type { Answer } from './answer.ts';
import type { Handler, Route } from './call.ts';

/**
 * The same handler, which answers each request in a span, errors as well. What the caller did wrong
 * is no failure of ours.
 */
export function inRequestSpans(
  { method, path }: Pick<Route, 'method' | 'path'>,
  handler: Handler,
  answerTo: (error: unknown) => Answer,
): Handler {
  const name = `${method} ${path}`;
  const attributes = { 'http.request.method': method, 'http.route': path };
  const description = { kind: SpanKind.SERVER, attributes };
  return (call) =>
    inSpanOfCaller(call, name, description, async (span) => {
      const answer = await handler(call).catch((error: unknown) => {
        const answer = answerTo(error);
        if (answer.status >= 500) markFailed(span, error);
        return answer;
      });
      span.setAttribute('http.response.status_code', answer.status);
      return answer;
    });
}
