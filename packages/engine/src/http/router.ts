// From a request to its endpoint, and from an error to its response. All requests come through here, in `instep serve`
// and in an app.

import { DatabaseRefused } from '../postgres/errors.ts';
import { InstepError } from '../runtime/errors.ts';
import type { Instrumentation } from '../runtime/instrumentation.ts';
import { type Logger, limitLines } from '../runtime/logging.ts';
import { inSpan, markFailed, type SpanDescription } from '../runtime/tracing.ts';
import { handleHealth, type ReadinessEndpoint } from './health.ts';
import {
  type Endpoint,
  HttpError,
  type HttpRequest,
  type HttpResponse,
  internalError,
  methodNotAllowed,
  notFound,
  USER_PATH,
  unavailable,
} from './http-message.ts';
import { BodyAlreadyRead } from './read-body.ts';
import type { UserEndpoint } from './user.ts';
import {
  isInvalidWebhook,
  SIGNATURE_FAILED,
  WEBHOOK_PATH,
  type WebhookEndpoint,
} from './webhook.ts';

type RouterOptions = {
  /** `null`: there is no profile. */
  user: UserEndpoint | null;
  webhook: WebhookEndpoint;
  readiness: ReadinessEndpoint;
  instrumentation: Pick<Instrumentation, 'requestAnswered'>;
  logger: Logger;
};

type Route = {
  method: 'GET' | 'POST';
  path: string;
  endpoint: Endpoint;
  span: SpanDescription;
};

/** A path has one method; GET includes HEAD. */
const METHODS = { GET: ['GET', 'HEAD'], POST: ['POST'] };

/** Routes requests to the contract's two endpoints and to the health checks. */
export class Router {
  #routes: Map<string, Route>;
  #instrumentation: RouterOptions['instrumentation'];
  #writeFailure: (members: object) => void;

  constructor({ user, webhook, readiness, instrumentation, logger }: RouterOptions) {
    const routes = [
      ...(user === null ? [] : [routeTo('GET', USER_PATH, (request) => user.handle(request))]),
      routeTo('POST', WEBHOOK_PATH, (request, identify) => webhook.handle(request, identify)),
      routeTo('GET', '/healthz', handleHealth),
      routeTo('GET', '/readyz', () => readiness.handle()),
    ];
    this.#routes = new Map(routes.map((route) => [route.path, route]));
    this.#instrumentation = instrumentation;
    this.#writeFailure = limitLines((members) => logger.error(members, 'request failed'));
  }

  /** Answers any request. Never throws: every error becomes a response. */
  async handle(request: HttpRequest): Promise<HttpResponse> {
    const startedAtMs = performance.now();
    const route = this.#routes.get(request.path);
    const response = await this.#respond(route, request);
    const durationMs = performance.now() - startedAtMs;
    this.#instrumentation.requestAnswered(route?.path ?? 'other', response.status, durationMs);
    return response;
  }

  #respond(route: Route | undefined, request: HttpRequest): HttpResponse | Promise<HttpResponse> {
    if (route === undefined) return notFound().toResponse(request.path);
    const { method, path, endpoint } = route;
    const methods = METHODS[method];
    if (!methods.includes(request.method)) {
      return methodNotAllowed(methods.join(', ')).toResponse(path);
    }
    const description = { ...route.span, caller: request };
    return inSpan(`${method} ${path}`, description, async (span) => {
      let ids: object = {};
      const identify = (found: object) => {
        ids = found;
      };
      const response = await endpoint(request, identify).catch((error: unknown) => {
        const httpError = httpErrorOf(error);
        // A client's error is not a failure of the server.
        if (httpError.status >= 500) {
          if (httpError !== error) {
            const teamIds = error instanceof DatabaseRefused ? error.teamIds : [];
            const refused = teamIds.length === 0 ? {} : { teamIds };
            this.#writeFailure({ err: error, method, path, ...ids, ...refused });
          }
          markFailed(span, error);
        }
        return httpError.toResponse(path);
      });
      span?.setAttribute('http.response.status_code', response.status);
      return response;
    });
  }
}

function routeTo(method: Route['method'], path: string, endpoint: Endpoint): Route {
  const attributes = { 'http.request.method': method, 'http.route': path };
  return { method, path, endpoint, span: { kind: 'SERVER', attributes } };
}

/**
 * An expected error of the database, the application's tables or Stripe is a 503, so that Stripe sends the event
 * again. The response reveals nothing about the error, unless the app caused it.
 */
function httpErrorOf(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (isInvalidWebhook(error)) return new HttpError(400, SIGNATURE_FAILED);
  if (error instanceof BodyAlreadyRead) return new HttpError(500, error.message);
  return error instanceof InstepError ? unavailable() : internalError();
}
