// All that happened to a team, page by page: one select over the log, the outbox and the audit. Only the outbox says what
// changed the plan. explain.ts calls it.

import { type EventRow, parseLogged } from 'instep-engine/log';
import {
  type ApplicationId,
  type ApplicationTables,
  PLAN_CHANGE_COLUMNS,
  type PlanChange,
} from 'instep-engine/postgres';
import { readPrunedBefore } from 'instep-engine/repair';
import type { EventSubscription, PlanInRow } from 'instep-engine/rule';
import { type Reason, readHistory } from '../event-log/reasons.ts';
import { type Direction, type Page, type PageRequest, searchOf } from '../runtime/pages.ts';
import type { NamedTeam } from '../teams/named-teams.ts';
import type { OperateContext } from './context.ts';
import { findActions, type RecordedAction } from './find-actions.ts';

/** A team's plan before and after something; `null` where it is not known. */
export type PlanStep = { readonly before: PlanInRow | null; readonly after: PlanInRow | null };

/** A change of a team's plan: what made it, and who. */
export type TimelineChange = PlanStep & Pick<PlanChange, 'cause' | 'eventId' | 'operator'>;

/** Something that happened to a team. */
export type TimelineItem = {
  /** Its place in the timeline. */
  readonly key: string;
  /** When it changed the team or, if it did not, when it happened; in milliseconds since 1970. */
  readonly atMs: number;
  /** The team's plan before and after it; `null`: it changed none, or the change was pruned. */
  readonly plans: PlanStep | null;
} & (
  | {
      /** What an event of its customer said, and why it was decided like that. */
      readonly kind: 'event';
      readonly event: EventRow;
      readonly subscription: EventSubscription;
      readonly reasons: readonly Reason[];
    }
  /** A change of the plan that no other item of the timeline made. */
  | { readonly kind: 'change'; readonly change: TimelineChange }
  | { readonly kind: 'action'; readonly action: RecordedAction }
);

/** A page of a team's timeline, the newest item first. */
export type Timeline = Page<TimelineItem, string> & {
  /** Events received before this time may have been pruned; `null`: none were. */
  readonly prunedBeforeMs: number | null;
};

/**
 * A change belongs to the action that made it, or else to the event. Events are in the order of the log. At the same time, an
 * action comes after a change, and a change after an event.
 */
const READ_TIMELINE = (tables: ApplicationTables, { beyond, order }: Direction) => `
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
             page.id,
             concat_ws('-', rank, page.id, (extract(epoch from at) * 1000000)::bigint) as key,
             (extract(epoch from at) * 1000)::bigint as "atMs",
             to_jsonb(changed) as change
        from (
               select *
                 from item
                where (at, rank, id) ${beyond} (
                        coalesce(timestamptz 'epoch' + $5::bigint * interval '1 microsecond', 'infinity'),
                        $3::integer,
                        $4::bigint
                      )
                order by at ${order}, rank ${order}, id ${order}
                limit $6
             ) as page
        left join lateral (
               select ${PLAN_CHANGE_COLUMNS(tables)}
                 from instep.plan_changes as change
                where change.id = page.change_id
             ) as changed on true
       order by at ${order}, rank ${order}, page.id ${order}`;

/** A row, with the change that it is or made. */
type Row = Pick<TimelineItem, 'kind' | 'key' | 'atMs'> & {
  readonly id: number;
  readonly change: TimelineChange | null;
};

/** `RANK-ID-MICROSECONDS`. Any other key is that of the newest page. */
const KEY = /^([1-3])-(\d{1,15})-(\d{1,16})$/;

/**
 * A page of all that happened to a team, the newest first: the events of its customer, each with its reasons; the changes of
 * its plan, also those by events of an earlier customer and by the application; and what operators did. What one item changed
 * is part of the item.
 */
export async function readTimeline(
  context: OperateContext,
  team: NamedTeam,
  request: PageRequest<string>,
): Promise<Timeline> {
  const { planSelection } = context;
  const { query } = context.database;
  const { id: teamId, customerId } = team;

  async function complete(rows: readonly Row[]): Promise<TimelineItem[]> {
    const idsOf = (kind: Row['kind']) => rows.flatMap((row) => (row.kind === kind ? row.id : []));
    const of = { planSelection, teams: [team], positions: idsOf('event') };
    const [acted, { log, explain }] = await Promise.all([
      findActions(context, { ids: idsOf('action') }).page({ limit: rows.length }),
      readHistory(query, customerId, of),
    ]);
    const actions = new Map(acted.rows.map((action) => [action.id, action]));
    const events = new Map(log.map((event) => [event.position, event]));
    return rows.flatMap(({ kind, id, change, ...row }): TimelineItem[] => {
      const plans = change && { before: change.before, after: change.after };
      if (kind === 'change') return change === null ? [] : [{ kind, ...row, plans, change }];
      if (kind === 'action') {
        const action = actions.get(id);
        return action === undefined
          ? []
          : [{ kind, ...row, plans: plansOf(action, teamId), action }];
      }
      const event = events.get(id);
      const subscription = event && parseLogged(event)?.subscription;
      if (event === undefined || subscription === undefined) return [];
      return [{ kind, ...row, plans, event, subscription, reasons: explain(event) }];
    });
  }

  const found = searchOf<Row, TimelineItem, string>(query, {
    name: 'read_timeline',
    text: READ_TIMELINE,
    values: ({ from, limit }) => {
      const [, ...place] = KEY.exec(from ?? '') ?? [0, 0, 0, null];
      return [String(teamId), customerId, ...place, limit];
    },
    isDescending: true,
    keyOf: ({ key }) => key,
    complete,
  });
  const [page, prunedBeforeMs] = await Promise.all([found.page(request), readPrunedBefore(query)]);
  return { ...page, prunedBeforeMs };
}

/** What an action changed of a team's plan. */
function plansOf({ changes }: RecordedAction, teamId: ApplicationId): PlanStep | null {
  const ofTeam = changes.filter((change) => String(change.teamId) === String(teamId));
  const [first, last] = [ofTeam[0], ofTeam.at(-1)];
  return first && last ? { before: first.before, after: last.after } : null;
}
