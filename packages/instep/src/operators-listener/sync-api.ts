import * as v from 'valibot';
import type { ApplicationId } from '../core/application.ts';
import { completeCheckout, syncCustomer } from '../operate/checkout.ts';
import type { OperateContext } from '../operate/context.ts';
import { InstepError, type InstepErrorCode } from '../runtime/errors.ts';
import {
  type Handler,
  type HttpRequest,
  type HttpResponse,
  jsonResponse,
  methodNotAllowed,
  notFound,
  Problem,
} from '../server/http-message.ts';

/** The two calls for apps in other languages begin with this path. */
export const SYNC_API_PATH = '/v1/';

/** Larger than any id. */
const MAX_BODY_BYTES = 4_096;

const OPERATOR = { name: 'OPS_TOKEN', how: 'application' } as const;

/** The statuses of expected errors. All others are 503: another call can succeed. */
const STATUSES: Readonly<Partial<Record<InstepErrorCode, number>>> = {
  CHECKOUT_NOT_COMPLETE: 409,
  CHECKOUT_OF_ANOTHER_TEAM: 409,
  TEAM_HAS_ANOTHER_CUSTOMER: 409,
  CUSTOMER_UNKNOWN: 404,
  CUSTOMER_WITHOUT_TEAM: 404,
  NOT_FOUND: 404,
};

const bodyShape = v.object({
  teamId: v.union([v.pipe(v.number(), v.safeInteger()), v.pipe(v.string(), v.maxLength(255))]),
});

/**
 * Answers `POST /v1/customers/{id}/sync` and `POST /v1/checkouts/{id}/complete` (openapi.yaml) for callers that
 * have shown the token.
 */
export function createSyncApi(context: OperateContext): Handler {
  return async (request) => {
    try {
      return await answer(request, context);
    } catch (error) {
      if (error instanceof Problem) return error.toResponse(request.path);
      if (!(error instanceof InstepError)) throw error;
      const { code, message } = error;
      const status = STATUSES[code] ?? 503;
      if (status === 503) context.logger.error({ err: error, path: request.path }, 'call failed');
      return jsonResponse({ error: message, code }, { status });
    }
  };
}

async function answer(request: HttpRequest, context: OperateContext): Promise<HttpResponse> {
  const [, customerId] = /^\/v1\/customers\/([^/]+)\/sync$/.exec(request.path) ?? [];
  const [, sessionId] = /^\/v1\/checkouts\/([^/]+)\/complete$/.exec(request.path) ?? [];
  if (customerId === undefined && sessionId === undefined) throw notFound();
  if (request.method !== 'POST') throw methodNotAllowed('POST');
  if (customerId !== undefined) {
    return jsonResponse(await syncCustomer(context, OPERATOR, customerId));
  }
  const teamId = await readTeamId(request);
  return jsonResponse(await completeCheckout(context, OPERATOR, sessionId ?? '', { teamId }));
}

async function readTeamId(request: HttpRequest): Promise<ApplicationId> {
  const text = Buffer.from(await request.body(MAX_BODY_BYTES)).toString();
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), bodyShape), text);
  if (parsed.success) return parsed.output.teamId;
  throw new Problem(400, 'The body must be JSON with the id of the team, such as {"teamId": 7}.');
}
