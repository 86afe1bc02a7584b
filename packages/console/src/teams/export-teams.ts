import { exportTeams, type OperateContext, type TeamFilter, type TeamOrder } from 'instep/operate';
import type { ExportedList } from '../export.ts';

const COLUMNS = [
  'id',
  'name',
  'status',
  'plan',
  'product',
  'subscription',
  'customer',
  'lost_plan',
  'lost_product',
] as const;

type TeamSearch = { readonly filter: TeamFilter; readonly order: TeamOrder };

/** The matching teams, in their order. */
export function exportedTeams(
  context: OperateContext,
  search: TeamSearch,
): ExportedList<(typeof COLUMNS)[number]> {
  return { name: 'teams', columns: COLUMNS, rows: teamRows(context, search) };
}

async function* teamRows(context: OperateContext, { filter, order }: TeamSearch) {
  for await (const team of exportTeams(context, filter, order)) {
    const { id, name, customerId, plan, lostPlan } = team;
    yield {
      id,
      name,
      status: plan.subscriptionStatus,
      plan: plan.planName,
      product: plan.providerProductId,
      subscription: plan.providerSubscriptionId,
      customer: customerId,
      lost_plan: lostPlan?.planName ?? null,
      lost_product: lostPlan?.productId ?? null,
    };
  }
}
