// Gives a team a plan without a subscription, as the application would: a gift, a partner, an internal team. Or takes it away.

import {
  type ApplicationId,
  deleteIssuesAboutPlan,
  lockTeam,
  readStates,
  writePlan,
} from 'instep-engine/postgres';
import { type ActingOperator, hasPlan, NO_PLAN, partOf, planWriterOf } from 'instep-engine/rule';
import { done, failed, type InTransaction, type Outcome } from './audit.ts';
import type { OperateContext } from './context.ts';

/**
 * The names of plans that a team can be given: those of products, and those that teams have got lately.
 *
 * @example
 * ```ts
 * console.log(await readPlanNames(context)); // []
 * ```
 */
export async function readPlanNames({
  database: { query },
}: Pick<OperateContext, 'database'>): Promise<readonly string[]> {
  const rows = await query<{ name: string }>({
    name: 'read_plan_names',
    text: `
      select name
        from instep.products
       where name is not null
       union
      select plan_name_after
        from (
               select plan_name_after
                 from instep.plan_changes
                order by id desc
                limit 5000
             ) as latest
       where plan_name_after is not null
       order by 1
       limit 200`,
  });
  return rows.map(({ name }) => name);
}

type Wanted = {
  /** `null`: none. */
  readonly planName: string | null;
  readonly isNewName?: boolean;
};

type Setting = Pick<OperateContext, 'database'> & {
  readonly operator: ActingOperator;
  readonly inTransaction: InTransaction;
};

/**
 * Writes the plan with the status active, or clears one that was given. Where a subscription decides, nothing changes: the
 * next event or comparison would take the plan away.
 */
export async function setPlan(
  teamId: ApplicationId,
  { planName, isNewName = false }: Wanted,
  { database, inTransaction, operator }: Setting,
): Promise<Outcome> {
  if (planName !== null && !isNewName) {
    const plans = await readPlanNames({ database });
    if (!plans.includes(planName)) return failed({ code: 'unknown-plan', planName, plans });
  }
  return await inTransaction(async (query) => {
    const team = await lockTeam(query, teamId, 'no key update');
    if (team === null) return failed({ code: 'no-such-team', text: String(teamId) });
    const { id, customerId, plan } = team;
    if (plan.planName === undefined) return failed({ code: 'no-plan-column', teamId: id });
    const states = await readStates(query, customerId === null ? [] : [customerId]);
    const given = { ...NO_PLAN, planName, subscriptionStatus: 'active' };
    const shouldBe = partOf(planName === null ? NO_PLAN : given, plan);
    const isPaid = hasPlan(plan) && Boolean(plan.providerSubscriptionId);
    const kept = planName === null ? plan : shouldBe;
    const isOfApp = planWriterOf(kept, states.of(customerId)) === 'app';
    if (isPaid || !isOfApp) return failed({ code: 'subscription-decides', teamId: id });
    await deleteIssuesAboutPlan(query, id);
    await writePlan(query, { team, shouldBe, cause: 'operator', operator });
    return done({ code: 'plan-set', teamId: id, planName, former: plan.planName });
  });
}
