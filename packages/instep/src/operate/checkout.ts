import type { TeamAccess } from '../access/team-access.ts';
import {
  type CompleteCheckoutRequest,
  completeCheckout as complete,
  syncCustomer as sync,
} from '../checkout/checkout.ts';
import { InstepError } from '../runtime/errors.ts';
import {
  type ActionResult,
  type OperatorAction,
  recordActions,
  type Subject,
  subjectText,
} from './audit.ts';
import { actingAs, type OperateContext, type Operator } from './context.ts';

/**
 * Links the customer of a completed checkout to its team, and gives the team its plan, as
 * `completeCheckout` of a handler does. The audit keeps who did it.
 *
 * @throws InstepError with one of the codes of `HandlerMethods.completeCheckout`
 * @example
 * ```ts
 * import { completeCheckout, openContext } from 'instep/operate';
 *
 * const context = await openContext();
 * const operator = { name: 'user:7', how: 'application' } as const;
 * const call = completeCheckout(context, operator, 'no session', { teamId: 1 });
 * console.log(await call.catch(({ code }) => code)); // CHECKOUT_NOT_COMPLETE
 * await context.close();
 * ```
 */
export async function completeCheckout(
  context: OperateContext,
  operator: Operator,
  sessionId: string,
  request: CompleteCheckoutRequest,
): Promise<TeamAccess> {
  const { teamId } = request;
  const id = typeof teamId === 'function' ? 'unknown' : String(teamId);
  const call = complete(actingAs(context, operator), sessionId, request);
  return await recorded(call, 'complete checkout', { kind: 'team', id }, context, operator);
}

/**
 * Gives a customer's team the plan that Stripe's list of the customer's subscriptions yields now. The audit keeps
 * who did it.
 *
 * @throws InstepError with one of the codes of `HandlerMethods.syncCustomer`
 * @example
 * ```ts
 * import { openContext, syncCustomer } from 'instep/operate';
 *
 * const context = await openContext();
 * const operator = { name: 'user:7', how: 'application' } as const;
 * const call = syncCustomer(context, operator, 'cus_123');
 * console.log(await call.catch(({ code }) => code)); // CUSTOMER_WITHOUT_TEAM
 * await context.close();
 * ```
 */
export async function syncCustomer(
  context: OperateContext,
  operator: Operator,
  customerId: string,
): Promise<TeamAccess> {
  const subject = { kind: 'customer', id: customerId } as const;
  const call = sync(actingAs(context, operator), customerId);
  return await recorded(call, 'sync', subject, context, operator);
}

/** Longer than any id. */
const MAX_SUBJECT_LENGTH = 300;

type Recorded = {
  /** The reason, for the audit. */
  readonly note?: string;
  /** What was changed, by default that the team has what Stripe has. */
  readonly resultOf?: (access: TeamAccess) => ActionResult;
};

/** Waits for the call, and records its result in the audit. */
export async function recorded(
  call: Promise<TeamAccess>,
  action: OperatorAction['action'],
  given: Subject,
  { database: { query }, nonce }: OperateContext,
  operator: Operator,
  { note, resultOf = ({ teamId }) => ({ code: 'synced', teamId }) }: Recorded = {},
): Promise<TeamAccess> {
  const storableNote = note?.toWellFormed().replaceAll('\0', '') ?? null;
  const form = { formId: nonce(), operator, note: storableNote };
  const storable = { ...given, id: given.id.toWellFormed().replaceAll('\0', '') };
  const subject = subjectText(storable).slice(0, MAX_SUBJECT_LENGTH);
  try {
    const access = await call;
    await recordActions(query, form, [{ subject, action, isDone: true, result: resultOf(access) }]);
    return access;
  } catch (error) {
    if (!(error instanceof InstepError)) throw error;
    const result = { code: 'failed', error: error.code } as const;
    await recordActions(query, form, [{ subject, action, isDone: false, result }]);
    throw error;
  }
}
