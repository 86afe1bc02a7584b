import type { PlanSelection } from '../core/plan-selection.ts';
import type { SubscriptionEvent } from '../core/subscription-event.ts';
import type { Query } from '../postgres/database.ts';
import { readProductNames } from '../queries/products.ts';
import { readPrunedBefore } from '../queries/prune-events.ts';
import { type EventRow, readEvents } from '../queries/search-events.ts';
import { changeOf } from '../stripe/logged-event.ts';
import { momentsOfDecisions } from './decision-time.ts';
import { type Explanation, explainMoment, type Surroundings } from './explain.ts';

/** An event of a customer's history: what it said, what was decided on it, and why. */
export type HistoryEntry = Explanation & {
  readonly event: EventRow;
  readonly subscription: SubscriptionEvent;
};

/** A part of what happened to a customer, in the order of arrival. */
export type CustomerHistory = {
  readonly entries: readonly HistoryEntry[];
  /** What is older stands before this position; `null` when nothing is. */
  readonly before: number | null;
  /** When what came before may have been pruned; `null`: nothing was. */
  readonly prunedBeforeMs: number | null;
};

export type HistoryRequest = {
  readonly customerId: string;
  readonly planSelection: PlanSelection;
  /** The teams that have the customer now. */
  readonly teamIds: readonly number[];
  /** What stands before this position; `null`: all. */
  readonly before: number | null;
  readonly limit: number;
};

/**
 * So many events before the first one that is told are folded with it. Of a longer history an event
 * may be told that the log does not say why.
 */
const FOLDED_BEFORE = 250;

/** The newest events of a customer, explained all at once. */
export async function explainHistory(
  query: Query,
  { customerId, planSelection, teamIds, before, limit }: HistoryRequest,
): Promise<CustomerHistory> {
  const upTo = before === null ? Number.MAX_SAFE_INTEGER : before - 1;
  const newest = await readEvents(
    query,
    { customerId },
    { after: 0, upTo },
    { order: 'newest first', limit: FOLDED_BEFORE + limit },
  );
  const log = newest.reverse();
  const productIds = log.flatMap((event) => changeOf(event)?.subscription.productId ?? []);
  const names = await readProductNames(query, [...new Set(productIds)]);
  const prunedBeforeMs = await readPrunedBefore(query);
  const entries = explainLog(log, { planSelection, teamIds, names, prunedBeforeMs });
  const isMore = entries.length > limit;
  const told = entries.slice(-limit);
  return {
    entries: told,
    before: isMore ? (told[0]?.event.position ?? null) : null,
    prunedBeforeMs,
  };
}

/** Explains all events of a customer's log, going through it once. Pure. */
export function explainLog(
  log: readonly EventRow[],
  surroundings: Surroundings,
): readonly HistoryEntry[] {
  const decided = log.filter(({ outcome }) => outcome !== 'parked' && outcome !== 'unreadable');
  const moments = momentsOfDecisions(decided, surroundings.planSelection);
  return log.flatMap((event) => {
    const subscription = changeOf(event)?.subscription;
    if (subscription === undefined) return [];
    const moment = moments.get(event.key) ?? null;
    return [{ event, subscription, ...explainMoment(event, moment, surroundings) }];
  });
}
