import { Hono } from 'hono';
import type { Answer } from './answer.ts';
import { readBody } from './body.ts';
import type { Call, Route } from './call.ts';
import { methodNotAllowed, notFound } from './problems.ts';

/** Hears of an answer that no route gave: to an unknown method of a path, or `null`, an unknown path. */
export type OnUnrouted = (status: number, path: string | null) => void;

/** Answers to every request of the Web's kind, the odd ones as well. */
export function createApp(routes: readonly Route[], onUnrouted: OnUnrouted) {
  const app = new Hono();
  for (const { method, path, handle } of routes) {
    // Hono answers HEAD as GET, without the body.
    app.on(method, path, async ({ req }) => toResponse(await handle(toCall(req.raw))));
    const allowed = methodNotAllowed(method === 'GET' ? 'GET, HEAD' : method).toAnswer();
    app.all(path, () => refuse(allowed, path));
  }
  app.notFound(() => refuse(notFound().toAnswer(), null));

  function refuse(answer: Answer, path: string | null): Response {
    onUnrouted(answer.status, path);
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
