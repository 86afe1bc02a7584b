import type { OperateContext, Operator, Task } from 'instep-operate';
import { performExpecting } from 'instep-operate/host';
import { readAccess, type TeamAccess } from '../access/team-access.ts';
import { SyncFailed } from '../checkout/checkout.ts';

/** Gives a team what Stripe has. Resolves with its access. */
export async function performForTeam(
  context: OperateContext,
  operator: Operator,
  task: Extract<Task, { readonly action: 'sync' | 'complete-checkout' }>,
): Promise<TeamAccess> {
  const { teamId } = await performExpecting(context, operator, task, 'synced');
  const access = await readAccess(context.database.query, teamId);
  if (access === null) throw new SyncFailed('NOT_FOUND', 'the team has just been deleted');
  return access;
}
