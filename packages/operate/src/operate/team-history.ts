// Reads and explains the events of a team's customer. timeline.ts and explain.ts call it.

import { type EventRow, readEvents } from 'instep-engine/log';
import { type Query, readProductNames } from 'instep-engine/postgres';
import { readPrunedBefore } from 'instep-engine/repair';
import type { EventSubscription, PlanSelection } from 'instep-engine/rule';
import {
  type Explanation,
  explainLog,
  type ParsedLoggedEvent,
  parseLog,
} from '../event-log/explain.ts';
import type { NamedTeam } from './named-teams.ts';

/** An event of a customer's history: what it said, how it was decided, and why. */
export type HistoryEntry = Explanation & {
  readonly event: EventRow;
  readonly subscription: EventSubscription;
};

/** A part of the history of a team's customer, in the order of arrival. */
export type TeamHistory = {
  readonly entries: readonly HistoryEntry[];
  /** Older events are before this position; `null` when there are none. */
  readonly before: number | null;
  /** The names of some that are older. */
  readonly older: ReadonlySet<string>;
  /** Events received before this time may have been pruned; `null`: none were. */
  readonly prunedBeforeMs: number | null;
};

/**
 * The number of events around an explained one from which its decision is recomputed. In a longer history the
 * reason for an event can be unknown.
 */
export const EVENTS_AROUND = 250;

type HistoryRequest = {
  readonly planSelection: PlanSelection;
  /** Only events before this position. */
  readonly before: number;
  readonly limit: number;
};

/** The newest events of a team's customer, each with its explanation. */
export async function readHistory(
  query: Query,
  team: Pick<NamedTeam, 'id' | 'customerId' | 'plan'>,
  { planSelection, before, limit }: HistoryRequest,
): Promise<TeamHistory> {
  const { customerId } = team;
  const prunedBeforeMs = await readPrunedBefore(query);
  if (customerId === null) return { entries: [], before: null, older: new Set(), prunedBeforeMs };
  const range = { after: 0, upTo: before - 1 };
  const newest = { order: 'newest first', limit: EVENTS_AROUND + limit } as const;
  const events = await readEvents(query, { customerId }, range, newest);
  const log = parseLog(events.reverse());
  const names = await readNames(query, log);
  const explain = explainLog(log, { planSelection, teams: [team], names, prunedBeforeMs });
  const shown = log.slice(-limit);
  return {
    entries: shown.map(({ event, parsed: { subscription } }) => ({
      ...{ event, subscription },
      ...explain(event),
    })),
    before: log.length > limit ? (shown[0]?.event.position ?? null) : null,
    older: new Set(log.slice(0, -limit).map(({ event }) => nameOfEvent(event))),
    prunedBeforeMs,
  };
}

/** The names of the products of these events. */
export async function readNames(
  query: Query,
  log: readonly ParsedLoggedEvent<EventRow>[],
): Promise<Map<string, string>> {
  const productIds = log.flatMap(({ parsed }) => parsed.subscription.productId ?? []);
  return await readProductNames(query, [...new Set(productIds)]);
}

/** Several events can have the same name, but seldom. Only an applied event changes a plan. */
export const nameOfEvent = ({ outcome, eventId, createdAtMs }: EventRow) =>
  `${outcome === 'applied'} ${eventId} ${createdAtMs}`;
