import type { Instrumentation } from '../runtime/instrumentation.ts';
import type { Handler, HttpResponse } from './http-message.ts';
import { methodNotAllowed, notFound } from './problems.ts';

export type Route = {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Never throws: every error becomes a response. */
  readonly handle: Handler;
};

/** Gives each request to the route of its path. A path has one method; GET includes HEAD. */
export function createRouter(routes: readonly Route[], instrumentation: Instrumentation): Handler {
  const byPath = new Map(routes.map((route) => [route.path, route]));
  return async (request) => {
    const beganMs = performance.now();
    const route = byPath.get(request.path);
    let response: HttpResponse;
    if (route === undefined) response = notFound().toResponse();
    else if (accepts(route, request.method)) response = await route.handle(request);
    else response = methodNotAllowed(route.method === 'GET' ? 'GET, HEAD' : 'POST').toResponse();
    const durationMs = performance.now() - beganMs;
    instrumentation.requestAnswered(route?.path ?? 'other', response.status, durationMs);
    return response;
  };
}

function accepts(route: Route, method: string): boolean {
  return method === route.method || (method === 'HEAD' && route.method === 'GET');
}

/** The path of a URL with its percent signs decoded; as it stands when they can't be. */
export function decodePath(pathname: string): string {
  try {
    return decodeURI(pathname);
  } catch {
    return pathname;
  }
}
