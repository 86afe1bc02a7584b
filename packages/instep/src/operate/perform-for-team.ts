import type { OperateContext, Operator } from 'instep-operate';
import { done, recorded } from 'instep-operate/host';
import { readAccess, type TeamAccess } from '../access/team-access.ts';
import {
  type CompleteCheckoutRequest,
  completeCheckout,
  SyncFailed,
  syncCustomer,
} from '../checkout/checkout.ts';

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
