// All that happened to a team, page by page: one select over the log, the outbox and the audit. Only the outbox says what
// changed the plan. explain.ts calls it.

import { type EventRow, parseLogged, readEvents } from 'instep-engine/log';
import {
  type ApplicationId,
  type ApplicationTables,
  PLAN_CHANGE_COLUMNS,
  type PlanChange,
  type Query,
} from 'instep-engine/postgres';
import { readPrunedBefore } from 'instep-engine/repair';
import type { EventSubscription, PlanInRow, PlanSelection } from 'instep-engine/rule';
import { explainLog, type Reason } from '../event-log/reasons.ts';
import type { NamedTeam } from '../teams/named-teams.ts';
import { type RecordedAction, readActionsWithIds } from './find-actions.ts';

/** A team's plan before and after something; `null` where it is not known. */
export type PlanStep = { readonly before: PlanInRow | null; readonly after: PlanInRow | null };

/** Something that happened to a team. */
export type TimelineItem = {
  /** When it changed the team or, if it did not, when it happened; in milliseconds since 1970. */
  readonly atMs: number;
  /** The team's plan before and after it; `null`: it changed none, or the change was pruned. */
  readonly plans: PlanStep | null;
} /** What an event of its customer said, and why it was decided like that. */ & (
  | {
      readonly kind: 'event';
      readonly event: EventRow;
      readonly subscription: EventSubscription;
      readonly reasons: readonly Reason[];
    }
  /** A change of the plan that no other item of the timeline made. */
  | { readonly kind: 'change'; readonly change: PlanChange }
  | { readonly kind: 'action'; readonly action: RecordedAction }
);

/** A part of a team's timeline, the newest item first. */
export type Timeline = {
  readonly items: readonly TimelineItem[];
  /** The next page, with older items, starts here; `null` on the last page. */
  readonly next: string | null;
  /** Events received before this time may have been pruned; `null`: none were. */
  readonly prunedBeforeMs: number | null;
};

/** Which part of a team's timeline to read. */
export type TimelineRequest = {
  /** The `next` of a page; `null`: the newest items. */
  readonly before?: string | null;
  /** 50 by default. */
  readonly limit?: number;
};

/**
 * A change belongs to the action that made it, or else to the event. Events are in the order of the log. At the same time, an
 * action comes after a change, and a change after an event.
 */
const READ_TIMELINE = `
      with action as materialized (
        select id, acted_at
          from instep.operator_actions
         where linked_team_id = $1
            or subject in ('team:' || $1, 'customer:' || $2)
            or subject = any (array(
                 select 'event:' || position
                   from instep.events
                  where customer_id = $2
               ))
      ), change as materialized (
        select change.id, changed_at, position
          from instep.plan_changes as change
          left join instep.events as event
            on event.key = change.event_key
           and event.customer_id = $2
         where team_id = $1
           and coalesce(action_id not in (select id from action), true)
      ), item as (
        select 'action' as kind, 3 as rank, id, null::bigint as change_id, acted_at as at
          from action
         union all
        select 'change', 2, id, id, changed_at
          from change
         where position is null
         union all
        select 'event', 1, position, change.id,
               max(greatest(received_at, changed_at)) over (order by position)
          from instep.events
          left join change using (position)
         where customer_id = $2
      )
      select kind,
             rank,
             id,
             change_id as "changeId",
             (extract(epoch from at) * 1000000)::bigint as "atMicroseconds"
        from item
       where (at, rank, id)
             < (timestamptz 'epoch' + $3::bigint * interval '1 microsecond', $4::integer, $5::bigint)
       order by at desc, rank desc, id desc
       limit $6`;

type Row = {
  readonly kind: TimelineItem['kind'];
  readonly rank: number;
  readonly id: number;
  /** The change that it is or made. */
  readonly changeId: number | null;
  readonly atMicroseconds: number;
};

/**
 * A page of all that happened to a team, the newest first: the events of its customer, each with its reasons; the changes of
 * its plan, also those by events of an earlier customer and by the application; and what operators did. What one item changed
 * is part of the item.
 */
export async function readTimelineOf(
  query: Query,
  team: NamedTeam,
  {
    planSelection,
    before = null,
    limit = 50,
  }: TimelineRequest & { readonly planSelection: PlanSelection },
): Promise<Timeline> {
  const rows = await query<Row>({
    name: 'read_timeline',
    text: READ_TIMELINE,
    values: [String(team.id), team.customerId, ...parseCursor(before), limit + 1],
  });
  const page = rows.slice(0, limit);
  const idsOf = (kind: Row['kind']) => page.flatMap((row) => (row.kind === kind ? row.id : []));
  const positions = idsOf('event');
  const range = { planSelection, teams: [team], positions };
  const changeIds = page.flatMap(({ changeId }) => changeId ?? []);
  const [actions, changes, { log, prunedBeforeMs, explain }] = await Promise.all([
    readActionsWithIds({ database: { query } }, idsOf('action')),
    readChanges(query, changeIds),
    readHistory(query, positions.length === 0 ? null : team.customerId, range),
  ]);
  const events = new Map(log.map((event) => [event.position, event]));

  function itemOf({ kind, id, changeId, atMicroseconds }: Row): TimelineItem[] {
    const atMs = Math.floor(atMicroseconds / 1_000);
    const change = changes.get(changeId ?? 0) ?? null;
    const plans = change && { before: change.before, after: change.after };
    switch (kind) {
      case 'event': {
        const event = events.get(id);
        const subscription = event && parseLogged(event)?.subscription;
        if (event === undefined || subscription === undefined) return [];
        return [{ kind, atMs, plans, event, subscription, reasons: explain(event) }];
      }
      case 'change':
        return change === null ? [] : [{ kind, atMs, plans, change }];
      case 'action': {
        const action = actions.get(id);
        return action === undefined
          ? []
          : [{ kind, atMs, plans: plansOf(action, team.id), action }];
      }
    }
  }

  const last = rows.length > limit ? page.at(-1) : undefined;
  return { items: page.flatMap(itemOf), next: last ? cursorText(last) : null, prunedBeforeMs };
}

/** What an action changed of a team's plan. */
function plansOf({ changes }: RecordedAction, teamId: ApplicationId): PlanStep | null {
  const ofTeam = changes.filter((change) => String(change.teamId) === String(teamId));
  const [first, last] = [ofTeam[0], ofTeam.at(-1)];
  return first === undefined || last === undefined
    ? null
    : { before: first.before, after: last.after };
}

const cursorText = ({ atMicroseconds, rank, id }: Row) => [atMicroseconds, rank, id].join('-');

/** Before which item a page begins. Any other text is the newest page. */
function parseCursor(text: string | null): readonly number[] {
  const [, at, rank, id] = /^(\d{1,16})-([1-3])-(\d{1,15})$/.exec(text ?? '') ?? [];
  return id === undefined ? [LATEST_MICROSECONDS, 0, 0] : [at, rank, id].map(Number);
}

/** In the year 2255. */
const LATEST_MICROSECONDS = 9_000_000_000_000_000;

const READ_CHANGES = (tables: ApplicationTables) => `
      select ${PLAN_CHANGE_COLUMNS(tables)}
        from instep.plan_changes as change
       where id = any ($1::bigint[])`;

async function readChanges(
  query: Query,
  ids: readonly number[],
): Promise<ReadonlyMap<number, PlanChange>> {
  if (ids.length === 0) return new Map();
  const statement = { name: 'read_changes_with_ids', text: READ_CHANGES, values: [ids] };
  return new Map((await query<PlanChange>(statement)).map((change) => [change.id, change]));
}

/**
 * The number of events before an explained one from which its decision is recomputed. In a longer history the
 * reason for an event can be unknown.
 */
const EVENTS_BEFORE = 250;

type HistoryRange = {
  readonly planSelection: PlanSelection;
  /** The teams that have the customer. */
  readonly teams: readonly NamedTeam[];
  /** The events to explain, which follow each other. */
  readonly positions: readonly number[];
};

/** The events of a customer up to these, with their reasons. */
export async function readHistory(
  query: Query,
  customerId: string | null,
  { planSelection, teams, positions }: HistoryRange,
) {
  const prunedBeforeMs = await readPrunedBefore(query);
  const range = { after: 0, upTo: Math.max(...positions) };
  const newest = { order: 'newest first', limit: EVENTS_BEFORE + positions.length } as const;
  const found = customerId === null ? [] : await readEvents(query, { customerId }, range, newest);
  const log = found.reverse();
  const teamIds = teams.map(({ id }) => id);
  const explain = explainLog(log, { planSelection, teamIds });
  return { log, prunedBeforeMs, explain };
}
