import type { TeamAccess } from '../access/team-access.ts';
import {
  type CompleteCheckoutRequest,
  completeCheckout as complete,
  syncCustomer as sync,
} from '../checkout/checkout.ts';
import { recorded } from './audit.ts';
import { actingAs, type OperateContext, type Operator } from './context.ts';

/**
 * Links the customer of a completed checkout to its team, and gives the team its plan, as
 * `completeCheckout` of a handler does. The audit keeps who did it.
 *
 * @throws InstepError with one of the codes of `HandlerMethods.completeCheckout`
 * @example
 * ```ts
 * const call = completeCheckout(context, operator, 'no session', { teamId: 1 });
 * console.log(await call.catch(({ code }) => code)); // CHECKOUT_NOT_COMPLETE
 * ```
 */
export async function completeCheckout(
  context: OperateContext,
  operator: Operator,
  sessionId: string,
  request: CompleteCheckoutRequest,
): Promise<TeamAccess> {
  const { teamId } = request;
  const subject = `team:${typeof teamId === 'function' ? 'unknown' : teamId}`;
  const action = { action: 'complete checkout', subject, resultOf } as const;
  return await recorded(context, operator, action, () =>
    complete(actingAs(context, operator), sessionId, request),
  );
}

/**
 * Gives a customer's team the plan that Stripe's list of the customer's subscriptions yields now. The audit keeps
 * who did it.
 *
 * @throws InstepError with one of the codes of `HandlerMethods.syncCustomer`
 * @example
 * ```ts
 * const call = syncCustomer(context, operator, 'cus_123');
 * console.log(await call.catch(({ code }) => code)); // CUSTOMER_WITHOUT_TEAM
 * ```
 */
export async function syncCustomer(
  context: OperateContext,
  operator: Operator,
  customerId: string,
): Promise<TeamAccess> {
  const action = { action: 'sync', subject: `customer:${customerId}`, resultOf } as const;
  return await recorded(context, operator, action, () =>
    sync(actingAs(context, operator), customerId),
  );
}

/** The team has what Stripe has. */
const resultOf = ({ teamId }: TeamAccess) => ({ code: 'synced', teamId }) as const;
