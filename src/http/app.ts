import { type ErrorHandler, Hono } from 'hono';
import { InstepError } from '../errors.ts';
import { QueueFull } from '../sync/batcher.ts';
import { healthHandler, type ReadinessOptions, readinessHandler } from './health.ts';
import { limitLines } from './line-limiter.ts';
import { internalProblem, methodNotAllowed, notFound, Problem, unavailable } from './problems.ts';
import { type UserOptions, userHandler } from './user.ts';
import { WEBHOOK_PATH, type WebhookOptions, webhookHandler } from './webhook.ts';

export type AppOptions = UserOptions & WebhookOptions & ReadinessOptions;

/** Answers to everything: the two endpoints of the contract, and the health of the process. */
export function createApp(options: AppOptions) {
  const app = new Hono();

  const routes = {
    '/api/user': { method: 'GET', handler: userHandler(options) },
    [WEBHOOK_PATH]: { method: 'POST', handler: webhookHandler(options) },
    '/healthz': { method: 'GET', handler: healthHandler },
    '/readyz': { method: 'GET', handler: readinessHandler(options) },
  };

  for (const [path, { method, handler }] of Object.entries(routes)) {
    // Hono answers HEAD as GET, without the body.
    app.on(method, path, handler);
    app.all(path, () => methodNotAllowed(method === 'GET' ? 'GET, HEAD' : method).toResponse());
  }
  app.notFound(() => notFound().toResponse());
  app.onError(errorHandler(options));
  return app;
}

/**
 * Errors that we expect mean that the database, or whoever else, cannot do it now: 503, so that
 * Stripe sends the event again. Nothing of an error is told to the sender.
 */
function errorHandler({ logger, now }: AppOptions): ErrorHandler {
  const write = (members: object) => logger.error(members, 'request failed');
  const writeOfFlood = limitLines({ now, write });
  return (error, { req }) => {
    if (error instanceof Problem) return error.toResponse();
    const isFlood = error instanceof QueueFull;
    (isFlood ? writeOfFlood : write)({ err: error, method: req.method, path: req.path });
    return (error instanceof InstepError ? unavailable() : internalProblem()).toResponse();
  };
}
