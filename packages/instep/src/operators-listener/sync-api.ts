// The calls for apps in other languages, on the operators' listener (openapi.yaml).

import {
  HttpError,
  type HttpRequest,
  type HttpResponse,
  jsonResponse,
  methodNotAllowed,
  notFound,
} from 'instep-engine/http';
import { InstepError } from 'instep-engine/runtime';
import type { OperateContext, Operator } from 'instep-operate';
import { done, recorded } from 'instep-operate/host';
import * as v from 'valibot';
import { readAccess, type TeamAccess } from '../access/team-access.ts';
import {
  type CompleteCheckoutRequest,
  completeCheckout,
  SyncFailed,
  syncCustomer,
} from '../checkout/checkout.ts';

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

/** Answers the calls for apps in other languages (openapi.yaml), whose callers have shown an operator's token. */
export async function answerCall(
  request: HttpRequest,
  context: OperateContext,
  operator: Operator,
): Promise<HttpResponse> {
  try {
    return await answer(request, context, operator);
  } catch (error) {
    if (error instanceof HttpError || !(error instanceof InstepError)) throw error;
    const { code, message } = error;
    const status = STATUSES[code] ?? 503;
    if (status === 503) context.logger.error({ err: error, path: request.path }, 'call failed');
    return jsonResponse({ error: message, code }, { status });
  }
}

async function answer(
  request: HttpRequest,
  context: OperateContext,
  operator: Operator,
): Promise<HttpResponse> {
  const [, teamId] = /^\/v1\/teams\/([^/]+)\/access$/.exec(request.path) ?? [];
  if (teamId !== undefined) {
    if (request.method !== 'GET') throw methodNotAllowed('GET');
    const access = await readAccess(context.database.query, teamId);
    if (access === null) throw notFound();
    return jsonResponse(access);
  }
  const [, customerId] = /^\/v1\/customers\/([^/]+)\/sync$/.exec(request.path) ?? [];
  const [, sessionId] = /^\/v1\/checkouts\/([^/]+)\/complete$/.exec(request.path) ?? [];
  if (customerId === undefined && sessionId === undefined) throw notFound();
  if (request.method !== 'POST') throw methodNotAllowed('POST');
  const wanted =
    customerId === undefined
      ? { sessionId: sessionId ?? '', teamId: await readTeamId(request) }
      : { customerId };
  return jsonResponse(await performForTeam(context, operator, wanted));
}

const checkoutShape = v.object({
  teamId: v.union([v.pipe(v.number(), v.safeInteger()), v.pipe(v.string(), v.maxLength(255))]),
});

async function readTeamId(request: HttpRequest) {
  const text = Buffer.from(await request.body(MAX_BODY_BYTES)).toString();
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), checkoutShape), text);
  if (parsed.success) return parsed.output.teamId;
  throw new HttpError(400, 'The body must be JSON, such as {"teamId": 7}.');
}

type Wanted =
  | { readonly customerId: string }
  | ({ readonly sessionId: string } & CompleteCheckoutRequest);

/** Gives a team what Stripe has, in the name of an operator. Resolves with its access. */
export async function performForTeam(
  context: OperateContext,
  operator: Operator,
  wanted: Wanted,
): Promise<TeamAccess> {
  const about =
    'customerId' in wanted
      ? { action: 'sync', subject: `customer:${wanted.customerId}` }
      : { action: 'complete-checkout', subject: `team:${wanted.teamId}` };
  const { result } = await recorded(context, { operator, ...about }, async (acting) => {
    const { teamId } =
      'customerId' in wanted
        ? await syncCustomer(acting, wanted.customerId)
        : await completeCheckout(acting, wanted.sessionId, wanted);
    return done({ code: 'synced', teamId } as const);
  });
  const access = await readAccess(context.database.query, result.teamId);
  if (access === null) throw new SyncFailed('NOT_FOUND', 'the team has just been deleted');
  return access;
}
