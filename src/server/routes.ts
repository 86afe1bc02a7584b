import { QueueFull } from '../runtime/batcher.ts';
import { InstepError } from '../runtime/errors.ts';
import { limitLines } from '../runtime/line-limiter.ts';
import type { Logger } from '../runtime/logging.ts';
import { healthHandler, type ReadinessOptions, readinessHandler } from './health.ts';
import type { Handler, HttpResponse } from './http-message.ts';
import { internalProblem, Problem, unavailable } from './problems.ts';
import { inRequestSpans } from './request-span.ts';
import type { Route } from './router.ts';
import { type UserOptions, userHandler } from './user.ts';
import { WEBHOOK_PATH, type WebhookOptions, webhookHandler } from './webhook.ts';

export type RoutesOptions = {
  readonly user: UserOptions;
  readonly webhook: WebhookOptions;
  readonly readiness: ReadinessOptions;
  readonly logger: Logger;
};

/** The two endpoints of the contract, and the health of the process. */
export function createRoutes({ user, webhook, readiness, logger }: RoutesOptions): Route[] {
  const responseTo = createErrorResponses(logger);

  function route(method: Route['method'], path: string, handler: Handler): Route {
    const onError = (error: unknown) => responseTo(error, { method, path });
    return { method, path, handle: inRequestSpans({ method, path }, handler, onError) };
  }

  return [
    route('GET', '/api/user', userHandler(user)),
    route('POST', WEBHOOK_PATH, webhookHandler(webhook)),
    route('GET', '/healthz', healthHandler),
    route('GET', '/readyz', readinessHandler(readiness)),
  ];
}

/**
 * An expected error means that the database or Stripe can't do it now: 503, so that Stripe sends the
 * event again. The response says nothing about the error.
 */
function createErrorResponses(logger: Logger) {
  const write = (members: object) => logger.error(members, 'request failed');
  const writeLimited = limitLines(write);
  return (error: unknown, request: Pick<Route, 'method' | 'path'>): HttpResponse => {
    if (error instanceof Problem) return error.toResponse();
    (error instanceof QueueFull ? writeLimited : write)({ err: error, ...request });
    return (error instanceof InstepError ? unavailable() : internalProblem()).toResponse();
  };
}
