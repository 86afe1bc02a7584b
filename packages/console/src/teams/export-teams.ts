import type { Query } from 'instep/operate/inside';
import type { ExportedList } from '../export.ts';
import { type FindRequest, findTeams, type Start } from './find-teams.ts';

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

type Column = (typeof COLUMNS)[number];

type TeamSearch = Pick<FindRequest, 'filter' | 'order'>;

/** The matching teams, in their order. */
export function exportedTeams(query: Query, search: TeamSearch): ExportedList<Column> {
  return { name: 'teams', columns: COLUMNS, rows: teamRows(query, search) };
}

const PAGE = 1_000;

async function* teamRows(query: Query, search: TeamSearch) {
  let start: Start | null = null;
  do {
    // A clock that stands still sets no time limit.
    const page = await findTeams(query, { ...search, start, limit: PAGE, clockMs: () => 0 });
    for (const { id, name, customerId, plan, lostPlan } of page.teams) {
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
    start = page.after === null ? null : { side: 'after', id: page.after };
  } while (start !== null);
}
