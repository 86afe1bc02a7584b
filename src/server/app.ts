import { Hono } from 'hono';
import { type Instrumentation, NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import type { Answer } from './answer.ts';
import { readBody } from './body.ts';
import type { Call, Route } from './call.ts';
import { methodNotAllowed, notFound } from './problems.ts';

/** Answers to every request of the Web's kind, the odd ones as well. */
export function createApp(
  routes: readonly Route[],
  instrumentation: Instrumentation = NO_INSTRUMENTATION,
) {
  const app = new Hono();
  for (const { method, path, handle } of routes) {
    // Hono answers HEAD as GET, without the body.
    app.on(method, path, async ({ req }) => toResponse(await handle(toCall(req.raw))));
    const allowed = methodNotAllowed(method === 'GET' ? 'GET, HEAD' : method).toAnswer();
    app.all(path, () => refuse(allowed, path));
  }
  app.notFound(() => refuse(notFound().toAnswer(), 'other'));

  function refuse(answer: Answer, path: string): Response {
    instrumentation.requestAnswered(path, answer.status, 0);
    return toResponse(answer);
  }
  return app;
}

export function toResponse({ body, ...init }: Answer): Response {
  return new Response(body, init);
}

function toCall(request: Request): Call {
  return {
    header: (name) => request.headers.get(name),
    body: (limitBytes) => readBody(request, limitBytes),
  };
}
