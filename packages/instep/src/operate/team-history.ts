// Reads and explains the events of a team's customers, the former ones included, which the audit and the history of
// plans know. timeline.ts and explain.ts call it.

import type { ApplicationId } from '../core/application.ts';
import type { PlanSelection } from '../core/plan-selection.ts';
import type { SubscriptionState } from '../core/subscription-event.ts';
import {
  type EventRow,
  type PositionRange,
  readEvents,
  type SortOrder,
} from '../event-log/event-rows.ts';
import {
  type Explanation,
  explainLog,
  type ParsedLoggedEvent,
  parseLog,
} from '../event-log/explain.ts';
import { readPrunedBefore } from '../event-log/prune.ts';
import type { Query } from '../postgres/database.ts';
import { IS_CLEARED } from '../postgres/statements/plan-changes.ts';
import { readProductNames } from '../postgres/statements/products.ts';
import type { NamedTeam } from './named-teams.ts';

/** An event of a customer's history: what it said, how it was decided, and why. */
export type HistoryEntry = Explanation & {
  readonly event: EventRow;
  readonly subscription: SubscriptionState;
};

/** A part of the history of a team's customers, in the order of arrival. */
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

/** The newest events of a team's customers, each with its explanation. */
export async function readHistory(
  query: Query,
  teamId: ApplicationId,
  customers: readonly CustomerOfTeam[],
  { planSelection, before, limit }: HistoryRequest,
): Promise<TeamHistory> {
  const prunedBeforeMs = await readPrunedBefore(query);
  const range = { after: 0, upTo: before - 1 };
  const newest = { order: 'newest first', limit: EVENTS_AROUND + limit } as const;
  const histories = await Promise.all(
    customers.map(async ({ customerId, sinceMs, untilMs }): Promise<HistoryEntry[]> => {
      const events = await readEvents(query, { customerId, untilMs }, range, newest);
      const log = parseLog(events.reverse());
      const names = await readNames(query, log);
      const explain = explainLog(log, { planSelection, teamIds: [teamId], names, prunedBeforeMs });
      return log
        .filter(({ event }) => event.receivedAtMs >= sinceMs)
        .map(({ event, parsed: { subscription } }) => ({ event, subscription, ...explain(event) }));
    }),
  );
  const all = histories.flat().sort((a, b) => a.event.position - b.event.position);
  const entries = all.slice(-limit);
  return {
    entries,
    before: all.length > limit ? (entries[0]?.event.position ?? null) : null,
    older: new Set(all.slice(0, -limit).map(({ event }) => nameOfEvent(event))),
    prunedBeforeMs,
  };
}

/** The events before and after one of them in the timeline of a team or, without a team, of the event's customer. */
export async function readEventsBeside(
  query: Query,
  team: NamedTeam | null,
  { customerId, position }: EventRow,
): Promise<Neighbors> {
  const ofEvent = customerId === null ? [] : [{ customerId }];
  const customers = team === null ? ofEvent : await readCustomersOf(query, team);
  const read = async (range: PositionRange, order: SortOrder) => {
    const page = { order, limit: 1 };
    const found = await Promise.all(customers.map((one) => readEvents(query, one, range, page)));
    return found.flat().map((event) => event.position);
  };
  const before = await read({ after: 0, upTo: position - 1 }, 'newest first');
  const after = await read({ after: position, upTo: Number.MAX_SAFE_INTEGER }, 'oldest first');
  return {
    previous: before.length === 0 ? null : Math.max(...before),
    next: after.length === 0 ? null : Math.min(...after),
  };
}

/** The events beside one of them, by their positions; `null`: there is none. */
export type Neighbors = { readonly previous: number | null; readonly next: number | null };

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

/** A customer that a team has or had, and the time of its events that belong to the team, since 1970. */
type CustomerOfTeam = {
  readonly customerId: string;
  /** Also events that waited for the team count; 0 unless another team had the customer before. */
  readonly sinceMs: number;
  /**
   * When it was replaced or unlinked or, if the application did that unnoticed, when the team last had it for sure.
   * Without it, the team has the customer now.
   */
  readonly untilMs?: number;
};

// The audit of links has an index of customers and teams, and the history of plans one of teams: no statement reads
// more than the rows of this team and of its customers.
const READ_FORMER_CUSTOMERS = `
      with recursive had as (
        (
          select $2::text as customer_id
           union
          select customer_id
            from instep.plan_changes
           where team_id = $1
           union
          select outcome ->> 'customerId'
            from instep.operator_actions
           where subject = 'team:' || $1
             and outcome ->> 'code' in ('linked', 'unlinked')
        )
         union
        select outcome ->> 'former'
          from had
          join instep.operator_actions
            on linked_customer_id = had.customer_id
           and linked_team_id = $1
      ), linked as materialized (
        select linked_customer_id, linked_team_id, acted_at, outcome ->> 'former' as former
          from instep.operator_actions
         where linked_team_id is not null
           and linked_customer_id in (select customer_id from had)
      ), evidence as materialized (
        select customer_id, changed_at as at, cause = 'link' and ${IS_CLEARED} as is_end
          from instep.plan_changes
         where team_id = $1
         union all
        select linked_customer_id, acted_at, false
          from linked
         where linked_team_id = $1
         union all
        select former, acted_at, true
          from linked
         where linked_team_id = $1
           and former <> linked_customer_id
         union all
        select outcome ->> 'customerId', acted_at, true
          from instep.operator_actions
         where subject = 'team:' || $1
           and outcome ->> 'code' = 'unlinked'
      ), last as (
        select distinct on (customer_id) customer_id, at, is_end
          from evidence
         where customer_id is distinct from $2
           and customer_id is not null
         order by customer_id, at desc, is_end desc
      )
      select customer_id as "customerId",
             (extract(epoch from case
               when exists (
                 select
                   from linked
                  where linked_customer_id = last.customer_id
                    and linked_team_id <> $1
                    and acted_at < first.at
               ) then first.at
               else 'epoch'
             end) * 1000)::bigint as "sinceMs",
             coalesce(
               floor(extract(epoch from (
                 select min(evidence.at)
                   from evidence
                  where evidence.customer_id is distinct from last.customer_id
                    and evidence.at > last.at
                    and not last.is_end
               )) * 1000),
               -- The event that changed the team can have been received in the same millisecond.
               floor(extract(epoch from last.at) * 1000) + case when last.is_end then 0 else 1 end
             )::bigint as "untilMs"
        from last
       cross join lateral (
               select min(evidence.at) as at
                 from evidence
                where evidence.customer_id = last.customer_id
             ) as first
       order by "untilMs" desc`;

/** The customer of a team, and the former ones by the audit and the history of plans, the last one first. */
export async function readCustomersOf(
  query: Query,
  { id, customerId }: Pick<NamedTeam, 'id' | 'customerId'>,
): Promise<CustomerOfTeam[]> {
  const former = await query<CustomerOfTeam>({
    name: 'read_former_customers',
    text: READ_FORMER_CUSTOMERS,
    values: [String(id), customerId],
  });
  return customerId === null ? former : [{ customerId, sinceMs: 0 }, ...former];
}
