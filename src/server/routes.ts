import { QueueFull } from '../runtime/batcher.ts';
import { InstepError } from '../runtime/errors.ts';
import { type Instrumentation, NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import type { Answer } from './answer.ts';
import type { Handler, Route } from './call.ts';
import { healthHandler, type ReadinessOptions, readinessHandler } from './health.ts';
import { limitLines } from './line-limiter.ts';
import { internalProblem, Problem, unavailable } from './problems.ts';
import { inRequestSpans } from './request-span.ts';
import { type UserOptions, userHandler } from './user.ts';
import { WEBHOOK_PATH, type WebhookOptions, webhookHandler } from './webhook.ts';

export type RoutesOptions = UserOptions &
  WebhookOptions &
  ReadinessOptions & { readonly instrumentation?: Instrumentation };

/** The two endpoints of the contract, and the health of the process. */
export function createRoutes(options: RoutesOptions): Route[] {
  const answerTo = errorAnswers(options);
  const { instrumentation = NO_INSTRUMENTATION } = options;

  function route(method: Route['method'], path: string, handler: Handler): Route {
    const onError = (error: unknown) => answerTo(error, { method, path });
    const answer = inRequestSpans({ method, path }, handler, onError);
    const handle: Handler = async (call) => {
      const beganMs = performance.now();
      const answered = await answer(call);
      instrumentation.requestAnswered(path, answered.status, performance.now() - beganMs);
      return answered;
    };
    return { method, path, handle };
  }

  return [
    route('GET', '/api/user', userHandler(options)),
    route('POST', WEBHOOK_PATH, webhookHandler(options)),
    route('GET', '/healthz', healthHandler),
    route('GET', '/readyz', readinessHandler(options)),
  ];
}

/**
 * Errors that we expect mean that the database, or whoever else, cannot do it now: 503, so that
 * Stripe sends the event again. Nothing of an error is told to the sender.
 */
function errorAnswers({ logger, now }: RoutesOptions) {
  const write = (members: object) => logger.error(members, 'request failed');
  const writeOfFlood = limitLines({ now, write });
  return (error: unknown, request: Pick<Route, 'method' | 'path'>): Answer => {
    if (error instanceof Problem) return error.toAnswer();
    const isFlood = error instanceof QueueFull;
    (isFlood ? writeOfFlood : write)({ err: error, ...request });
    return (error instanceof InstepError ? unavailable() : internalProblem()).toAnswer();
  };
}
