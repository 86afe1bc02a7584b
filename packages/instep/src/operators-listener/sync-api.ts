// The calls for apps in other languages, on the operators' listener (openapi.yaml).

import {
  type Handler,
  HttpError,
  type HttpRequest,
  type HttpResponse,
  jsonResponse,
  methodNotAllowed,
  notFound,
} from 'instep-engine/http';
import { InstepError } from 'instep-engine/runtime';
import type { OperateContext, Operator } from 'instep-operate';
import * as v from 'valibot';
import { performForTeam } from '../operate/perform-for-team.ts';

/** Larger than any id. */
const MAX_BODY_BYTES = 4_096;

/** The statuses of expected errors. All others are 503: another call can succeed. */
const STATUSES: Readonly<Partial<Record<string, number>>> = {
  CHECKOUT_NOT_COMPLETE: 409,
  CHECKOUT_OF_ANOTHER_TEAM: 409,
  TEAM_HAS_ANOTHER_CUSTOMER: 409,
  CUSTOMER_UNKNOWN: 404,
  CUSTOMER_WITHOUT_TEAM: 404,
  NOT_FOUND: 404,
};

/** Why, for the audit. */
const reasonShape = v.object({ reason: v.optional(v.pipe(v.string(), v.maxLength(1_000))) });

const checkoutShape = v.object({
  ...reasonShape.entries,
  teamId: v.union([v.pipe(v.number(), v.safeInteger()), v.pipe(v.string(), v.maxLength(255))]),
});

/** Answers the calls for apps in other languages (openapi.yaml), whose callers have shown an operator's token. */
export function createSyncApi(context: OperateContext, operator: Operator): Handler {
  return async (request) => {
    try {
      return await answer(request, context, operator);
    } catch (error) {
      if (error instanceof HttpError) return error.toResponse(request.path);
      if (!(error instanceof InstepError)) throw error;
      const { code, message } = error;
      const status = STATUSES[code] ?? 503;
      if (status === 503) context.logger.error({ err: error, path: request.path }, 'call failed');
      return jsonResponse({ error: message, code }, { status });
    }
  };
}

async function answer(
  request: HttpRequest,
  context: OperateContext,
  operator: Operator,
): Promise<HttpResponse> {
  const [, customerId] = /^\/v1\/customers\/([^/]+)\/sync$/.exec(request.path) ?? [];
  const [, sessionId] = /^\/v1\/checkouts\/([^/]+)\/complete$/.exec(request.path) ?? [];
  if (customerId === undefined && sessionId === undefined) throw notFound();
  if (request.method !== 'POST') throw methodNotAllowed('POST');
  if (customerId !== undefined) {
    const { reason } = await readBody(request, reasonShape, '{"reason": "asked by phone"}', '{}');
    return jsonResponse(await performForTeam(context, because(operator, reason), { customerId }));
  }
  const { teamId, reason } = await readBody(request, checkoutShape, '{"teamId": 7}');
  const complete = { sessionId: sessionId ?? '', teamId };
  return jsonResponse(await performForTeam(context, because(operator, reason), complete));
}

const because = (operator: Operator, reason: string | undefined): Operator =>
  reason === undefined ? operator : { ...operator, reason };

/** @param otherwise the body in place of an empty one */
async function readBody<Shape extends v.GenericSchema>(
  request: HttpRequest,
  shape: Shape,
  example: string,
  otherwise = '',
): Promise<v.InferOutput<Shape>> {
  const text = Buffer.from(await request.body(MAX_BODY_BYTES)).toString() || otherwise;
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), shape), text);
  if (parsed.success) return parsed.output;
  throw new HttpError(400, `The body must be JSON, such as ${example}.`);
}
