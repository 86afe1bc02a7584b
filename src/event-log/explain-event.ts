import type { PlanSelection } from '../core/plan-selection.ts';
import type { Query } from '../postgres/database.ts';
import { readEventsAround, readEventsOfCustomer } from '../queries/events.ts';
import { readProductNames } from '../queries/products.ts';
import { readPrunedBefore } from '../queries/prune-events.ts';
import type { EventRow } from '../queries/search-events.ts';
import { type LinkedTeam, readTeamsOf } from '../queries/teams.ts';
import { changeOf } from '../stripe/logged-event.ts';
import { type Explanation, explain } from './explain.ts';

export type ExplainedEvent = Explanation & {
  /** The teams that have the event's customer now. */
  readonly teams: readonly LinkedTeam[];
};

/**
 * Reads what there is around an event, and says what was decided on it and why. Of the customer's
 * events before and after it at most `maxAround` are read each, for whoever cannot wait for all.
 */
export async function explainEvent(
  query: Query,
  event: EventRow,
  planSelection: PlanSelection,
  maxAround?: number,
): Promise<ExplainedEvent> {
  const { customerId } = event;
  const teams = customerId === null ? [] : await readTeamsOf(query, [customerId]);
  const log = customerId === null ? [] : await readLogOf(query, customerId, event, maxAround);
  const productIds = log.flatMap((row) => changeOf(row)?.subscription.productId ?? []);
  const names = await readProductNames(query, [...new Set(productIds)]);
  const prunedBeforeMs = await readPrunedBefore(query);
  const teamIds = teams.map(({ id }) => id);
  return { ...explain(event, { log, planSelection, teamIds, names, prunedBeforeMs }), teams };
}

function readLogOf(
  query: Query,
  customerId: string,
  { position }: EventRow,
  maxAround: number | undefined,
) {
  return maxAround === undefined
    ? readEventsOfCustomer(query, customerId)
    : readEventsAround(query, customerId, { position, count: maxAround });
}
