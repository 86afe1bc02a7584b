import { DatabaseRefused } from '../postgres/errors.ts';
import { InstepError } from '../runtime/errors.ts';
import type { Instrumentation } from '../runtime/instrumentation.ts';
import { limitLines } from '../runtime/line-limiter.ts';
import type { Logger } from '../runtime/logging.ts';
import { inSpanOfCaller, markFailed, type SpanDescription } from '../runtime/tracing.ts';
import { healthHandler } from './health.ts';
import {
  type Endpoint,
  type Handler,
  type HttpResponse,
  internalProblem,
  methodNotAllowed,
  notFound,
  Problem,
  unavailable,
} from './http-message.ts';
import { BodyAlreadyRead } from './read-body.ts';
import { WEBHOOK_PATH } from './webhook.ts';

type RouterOptions = {
  user: Endpoint;
  webhook: Endpoint;
  readiness: Endpoint;
  instrumentation: Instrumentation;
  logger: Logger;
};

type Route = {
  method: 'GET' | 'POST';
  path: string;
  /** Never throws: every error becomes a response. */
  handle: Handler;
};

/**
 * Routes requests to the contract's two endpoints and to the health checks. A path has one method; GET
 * includes HEAD.
 */
export function createRouter(options: RouterOptions): Handler {
  const { user, webhook, readiness, instrumentation, logger } = options;
  const writeFailure = limitLines((members) => logger.error(members, 'request failed'));

  function routeTo(method: Route['method'], path: string, endpoint: Endpoint): Route {
    return { method, path, handle: handlerOf({ method, path }, endpoint, writeFailure) };
  }

  const routes = [
    routeTo('GET', '/api/user', user),
    routeTo('POST', WEBHOOK_PATH, webhook),
    routeTo('GET', '/healthz', healthHandler),
    routeTo('GET', '/readyz', readiness),
  ];
  const byPath = new Map(routes.map((route) => [route.path, route]));

  return async (request) => {
    const startedAtMs = performance.now();
    const route = byPath.get(request.path);
    let response: HttpResponse;
    if (route === undefined) response = notFound().toResponse();
    else if (accepts(route, request.method)) response = await route.handle(request);
    else response = methodNotAllowed(route.method === 'GET' ? 'GET, HEAD' : 'POST').toResponse();
    const durationMs = performance.now() - startedAtMs;
    instrumentation.requestAnswered(route?.path ?? 'other', response.status, durationMs);
    return response;
  };
}

function accepts(route: Route, method: string): boolean {
  return method === route.method || (method === 'HEAD' && route.method === 'GET');
}

/** Handles each request in a span, and turns every error into a response. */
function handlerOf(
  { method, path }: Pick<Route, 'method' | 'path'>,
  endpoint: Endpoint,
  writeFailure: (members: object) => void,
): Handler {
  const name = `${method} ${path}`;
  const attributes = { 'http.request.method': method, 'http.route': path };
  const description: SpanDescription = { kind: 'SERVER', attributes };
  return (request) =>
    inSpanOfCaller(request, name, description, async (span) => {
      let ids: object = {};
      const identify = (found: object) => {
        ids = found;
      };
      const response = await endpoint(request, identify).catch((error: unknown) => {
        const problem = problemOf(error);
        if (problem !== error)
          writeFailure({ err: error, method, path, ...ids, ...teamsOf(error) });
        // A client's error is not a failure of the server.
        if (problem.status >= 500) markFailed(span, error);
        return problem.toResponse();
      });
      span?.setAttribute('http.response.status_code', response.status);
      return response;
    });
}

/**
 * An expected error means that the database or Stripe is not available now: 503, so that Stripe sends the
 * event again. The response reveals nothing about the error, unless the app caused it.
 */
function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof BodyAlreadyRead) return new Problem(500, error.message);
  return error instanceof InstepError ? unavailable() : internalProblem();
}

function teamsOf(error: unknown) {
  return error instanceof DatabaseRefused && error.teamIds.length > 0
    ? { teamIds: error.teamIds }
    : {};
}
