import type { ApplicationId } from '../core/application.ts';
import type { PlanSelection } from '../core/plan-selection.ts';
import type { SubscriptionChange, SubscriptionEvent } from '../core/subscription-event.ts';
import { type ParsedEvent, parseLog } from '../event-log/decisions.ts';
import { type Explanation, explainLog } from '../event-log/explain.ts';
import { readPrunedBefore } from '../event-log/prune.ts';
import { type EventRow, readEvents } from '../event-log/search-events.ts';
import type { Query } from '../postgres/database.ts';
import { readProductNames } from '../postgres/statements/products.ts';
import { type NamedTeam, readNamedTeamsOf } from './named-teams.ts';

/** An event of a customer's history: what it said, how it was decided, and why. */
export type HistoryEntry = Explanation & {
  readonly event: EventRow;
  readonly subscription: SubscriptionEvent;
};

/** A part of a customer's history, in the order of arrival. */
export type CustomerHistory = {
  readonly entries: readonly HistoryEntry[];
  /** Older events are before this position; `null` when there are none. */
  readonly before: number | null;
  /** Events received before this time may have been pruned; `null`: none were. */
  readonly prunedBeforeMs: number | null;
};

/** Without a customer. */
export const NO_HISTORY: CustomerHistory = { entries: [], before: null, prunedBeforeMs: null };

type HistoryRequest = {
  readonly customerId: string;
  readonly planSelection: PlanSelection;
  /** The teams that have the customer now. */
  readonly teamIds: readonly ApplicationId[];
  /** Only events before this position; `null`: all. */
  readonly before: number | null;
  readonly limit: number;
};

export type ExplainedEvent = Explanation & {
  /** The content of the event; `null` when it was unreadable. */
  readonly change: SubscriptionChange | null;
  /** The teams that have the event's customer now. */
  readonly teams: readonly NamedTeam[];
};

/**
 * The number of events around an explained one from which its decision is recomputed. In a longer history the
 * reason for an event can be unknown.
 */
const EVENTS_AROUND = 250;

const WHOLE_LOG = { after: 0, upTo: Number.MAX_SAFE_INTEGER };

/** Explains the newest events of a customer. */
export async function explainHistory(
  query: Query,
  { customerId, planSelection, teamIds, before, limit }: HistoryRequest,
): Promise<CustomerHistory> {
  const range = before === null ? WHOLE_LOG : { ...WHOLE_LOG, upTo: before - 1 };
  const newest = { order: 'newest first', limit: EVENTS_AROUND + limit } as const;
  const log = parseLog((await readEvents(query, { customerId }, range, newest)).reverse());
  const prunedBeforeMs = await readPrunedBefore(query);
  const names = await readNames(query, log);
  const explain = explainLog(log, { planSelection, teamIds, names, prunedBeforeMs });
  const shown = log.slice(-limit);
  return {
    entries: shown.map(({ event, change: { subscription } }) => ({
      event,
      subscription,
      ...explain(event),
    })),
    before: log.length > limit ? (shown[0]?.event.position ?? null) : null,
    prunedBeforeMs,
  };
}

/** Explains one event from the log around it. */
export async function explainEvent(
  query: Query,
  event: EventRow,
  planSelection: PlanSelection,
): Promise<ExplainedEvent> {
  const { customerId, position } = event;
  const teams = customerId === null ? [] : await readNamedTeamsOf(query, [customerId]);
  const log = customerId === null ? [] : parseLog(await readAround(query, customerId, position));
  const names = await readNames(query, log);
  const prunedBeforeMs = await readPrunedBefore(query);
  const teamIds = teams.map(({ id }) => id);
  const explanation = explainLog(log, { planSelection, teamIds, names, prunedBeforeMs })(event);
  const change = log.find((parsed) => parsed.event.key === event.key)?.change ?? null;
  return { ...explanation, change, teams };
}

async function readAround(query: Query, customerId: string, position: number): Promise<EventRow[]> {
  const upTo = { ...WHOLE_LOG, upTo: position };
  const after = { ...WHOLE_LOG, after: position };
  const limit = EVENTS_AROUND;
  const earlier = await readEvents(query, { customerId }, upTo, { order: 'newest first', limit });
  const later = await readEvents(query, { customerId }, after, { order: 'oldest first', limit });
  return [...earlier.reverse(), ...later];
}

async function readNames(
  query: Query,
  log: readonly ParsedEvent<EventRow>[],
): Promise<Map<string, string>> {
  const productIds = log.flatMap(({ change }) => change.subscription.productId ?? []);
  return await readProductNames(query, [...new Set(productIds)]);
}
