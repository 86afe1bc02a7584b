// Gives a team a plan without a subscription, as the application would: a gift, a partner, an internal team. Or takes it away.

import { lockTeam, readStates, writePlan } from 'instep-engine/postgres';
import { hasPlan, NO_PLAN, partOf, planWriterOf } from 'instep-engine/rule';
import type { Subject } from '../teams/subject.ts';
import { type Acting, done, failed, type Outcome } from './audit.ts';
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
  readonly subject: Subject;
  readonly planName: string | null;
  readonly isNewName?: boolean;
};

/**
 * Writes the plan with the status active, or clears one that was given. Where a subscription decides, nothing changes: the
 * next event or comparison would take the plan away.
 */
export async function setPlan(
  { subject: { id: teamId }, planName, isNewName = false }: Wanted,
  { database, inTransaction, operator }: Acting,
): Promise<Outcome> {
  if (planName !== null && !isNewName) {
    const plans = await readPlanNames({ database });
    if (!plans.includes(planName)) return failed({ code: 'unknown-plan', planName, plans });
  }
  return await inTransaction<Outcome>(async (query) => {
    const team = await lockTeam(query, teamId);
    if (team === null) return failed({ code: 'no-such-team', text: teamId });
    const { id, customerId, plan } = team;
    // The table has no column for it.
    if (plan.planName === undefined) return failed({ code: 'does-not-apply' });
    const states = await readStates(query, customerId === null ? [] : [customerId]);
    const given = { ...NO_PLAN, planName, subscriptionStatus: 'active' };
    const shouldBe = partOf(planName === null ? NO_PLAN : given, plan);
    const isPaid = hasPlan(plan) && Boolean(plan.providerSubscriptionId);
    const kept = planName === null ? plan : shouldBe;
    const isOfApp = planWriterOf(kept, states.of(customerId)) === 'app';
    if (isPaid || !isOfApp) return failed({ code: 'subscription-decides', teamId: id });
    await writePlan(query, { team, shouldBe, cause: 'operator', operator });
    return done({ code: 'plan-set', teamId: id, planName, former: plan.planName });
  });
}
