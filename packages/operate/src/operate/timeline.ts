// Puts together all that happened to a team, page by page, and which change of the plan was made by which event or
// action. `readTimeline` is for the older pages of the console; explain.ts reads the newest one.

import {
  type ApplicationId,
  MAX_PLAN_CHANGES,
  type PlanChange,
  type Query,
  readLinkedAt,
  readTeamChanges,
} from 'instep-engine/postgres';
import { isSamePlan, type PlanSelection } from 'instep-engine/rule';
import type { PlanStep } from '../event-log/explain.ts';
import type { OperateContext } from './context.ts';
import { type RecordedAction, readActionsOn } from './find-actions.ts';
import { type NamedTeam, readNamedTeam } from './named-teams.ts';
import { type HistoryEntry, nameOfEvent, readHistory } from './team-history.ts';

/** Something that happened to a team. */
export type TimelineItem = {
  /** When it changed the team or, if it did not, when it happened; in milliseconds since 1970. */
  readonly atMs: number;
  /** The team's plan before and after it; `null`: it changed none. */
  readonly plans: PlanStep | null;
} & (
  | ({ readonly kind: 'event' } & HistoryEntry)
  /** A change of the plan that no other item of the timeline explains. */
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

export type TimelineRequest = {
  readonly teamId: ApplicationId;
  /** The `next` of a page; `null`: the newest items. */
  readonly before?: string | null;
  /** 50 by default. */
  readonly limit?: number;
};

/**
 * All that happened to a team, the newest first: the events of its customer, each with its reasons; the changes of its
 * plan, also those by events of an earlier customer and by the application; and what operators did. What one item
 * changed is part of the item. `null` when there is no such team.
 *
 * @example
 * ```ts
 * const timeline = await readTimeline(context, { teamId: 7 });
 * for (const { kind, atMs, plans } of timeline?.items ?? []) {
 *   console.log(kind, new Date(atMs), plans?.before?.planName, plans?.after?.planName);
 * }
 * ```
 */
export async function readTimeline(
  { database: { query }, planSelection }: OperateContext,
  { teamId, ...request }: TimelineRequest,
): Promise<Timeline | null> {
  const team = await readNamedTeam(query, teamId);
  return team && (await readTimelineOf(query, team, { planSelection, ...request })).timeline;
}

type TimelinePage = Omit<TimelineRequest, 'teamId'> & { readonly planSelection: PlanSelection };

/** A page of a team's timeline, with the events that it was made of. */
export async function readTimelineOf(
  query: Query,
  team: NamedTeam,
  { planSelection, before = null, limit = 50 }: TimelinePage,
) {
  const { id: teamId, customerId } = team;
  const cursor = parseCursor(before);
  // Not as many as a page: an action stands before the events that it replayed, which can be more than that.
  const range = { teamId, beforeId: cursor.change, limit: MAX_PLAN_CHANGES };
  const changes = await readTeamChanges(query, range);
  const page = { planSelection, before: cursor.event, limit };
  const { entries, older, ...history } = await readHistory(query, team, page);
  const eventIds = entries.flatMap(({ event }) => event.eventId ?? []);
  const [changesOfEvents, linkedAtMs, actions] = await Promise.all([
    readTeamChanges(query, { teamId, limit: MAX_PLAN_CHANGES }, eventIds),
    readLinkedAt(query, team),
    readActionsOn(query, {
      teamId,
      customerId,
      otherSubjects: entries.flatMap(({ event, subscription }) => [
        `event:${event.position}`,
        `subscription:${subscription.subscriptionId}`,
      ]),
      before: cursor.action,
      limit: limit + 1,
    }),
  ]);
  const waiting: Waiting = {
    event: entries.map((entry) => entryOfEvent(entry, linkedAtMs)).reverse(),
    action: actions.map(entryOfAction),
    change: [],
  };
  const changesById = new Map(
    [...changesOfEvents, ...changes].map((change) => [change.id, change]),
  );
  for (const change of [...changesById.values()].sort((a, b) => b.id - a.id)) {
    const isExplained = addToCause(change, waiting, older);
    if (!isExplained && change.id < cursor.change) waiting.change.push(entryOfChange(change));
  }
  const { items, next, isLast } = takeNewest(waiting, cursor, limit);
  // None of the changes that were read is shown by itself.
  if (isLast) next.change = Math.min(next.change, changes.at(-1)?.id ?? 0);
  const hasMore = changes.length === MAX_PLAN_CHANGES || history.before !== null;
  const timeline: Timeline = {
    items,
    next: isLast && !hasMore ? null : cursorText(next),
    prunedBeforeMs: history.prunedBeforeMs,
  };
  return { timeline, entries };
}

/** How far each source has been read. */
type Cursor = {
  /** Events before this position, changes before this id, actions before this time in microseconds. */
  readonly event: number;
  readonly change: number;
  readonly action: number;
};

const ALL = Number.MAX_SAFE_INTEGER;
const NEWEST: Cursor = { event: ALL, change: ALL, action: ALL };

const cursorText = ({ event, change, action }: Cursor) => [event, change, action].join('-');

/** Any other text is the newest page. */
function parseCursor(text: string | null): Cursor {
  if (text === null || !/^\d{1,16}(?:-\d{1,16}){2}$/.test(text)) return NEWEST;
  const [event = ALL, change = ALL, action = ALL] = text
    .split('-')
    .map((number) => Math.min(ALL, Number(number)));
  return { event, change, action };
}

/** An item of a source, and the changes that are due to it. */
type Entry = {
  /** The place in the source: a position, an id, or a time. */
  readonly key: number;
  readonly item: TimelineItem;
  readonly changes: PlanChange[];
};

/** The items of each source that are not on a page yet, the newest first. */
type Waiting = Record<keyof Cursor, Entry[]>;

/** At the same time, a source comes before the next one. */
const SOURCES = ['action', 'change', 'event'] as const satisfies (keyof Cursor)[];

/** Takes the newest items of all sources, and tells where the next page starts. */
function takeNewest(waiting: Waiting, cursor: Cursor, limit: number) {
  const items: TimelineItem[] = [];
  const next = { ...cursor };
  for (;;) {
    const heads = SOURCES.flatMap((source) => {
      const [entry] = waiting[source];
      return entry === undefined ? [] : [{ source, entry, item: itemOf(entry) }];
    });
    const newest = heads.toSorted((a, b) => b.item.atMs - a.item.atMs)[0];
    // Actions of the same moment stay together.
    const isSameAct = newest?.source === 'action' && newest.entry.key === next.action;
    if (newest === undefined || (items.length >= limit && !isSameAct)) break;
    const { source, entry, item } = newest;
    waiting[source].shift();
    next[source] = entry.key;
    next.change = Math.min(next.change, ...entry.changes.map(({ id }) => id));
    items.push(item);
  }
  return { items, next, isLast: SOURCES.every((source) => waiting[source].length === 0) };
}

/** An event that arrived before the team got its customer's plan changed nothing itself: the link did. */
function entryOfEvent({ plans, ...entry }: HistoryEntry, linkedAtMs: number): Entry {
  const { position, outcome, receivedAtMs: atMs } = entry.event;
  const { before = null, after = null } = plans ?? {};
  const isChanged = outcome === 'applied' && atMs >= linkedAtMs && !isSamePlan(before, after);
  const item = { kind: 'event', atMs, plans: isChanged ? plans : null, ...entry } as const;
  return { key: position, item, changes: [] };
}

function entryOfAction(action: RecordedAction): Entry {
  const key = action.actedAtMicroseconds;
  const item = { kind: 'action', atMs: Math.floor(key / 1_000), plans: null, action } as const;
  return { key, item, changes: [] };
}

function entryOfChange(change: PlanChange): Entry {
  const item = { kind: 'change', atMs: change.changedAt.getTime(), plans: null, change } as const;
  return { key: change.id, item, changes: [change] };
}

/** The item with what it changed, at the time of the change. */
function itemOf({ item, changes }: Entry): TimelineItem {
  const [newest, oldest] = [changes[0], changes.at(-1)];
  if (newest === undefined || oldest === undefined) return item;
  const plans = { before: oldest.before, after: newest.after };
  const changedAtMs = newest.changedAt.getTime();
  const atMs = item.kind === 'action' ? changedAtMs : Math.max(item.atMs, changedAtMs);
  return { ...item, plans, atMs };
}

function nameOfEventIn({ cause, eventId, eventCreatedAt }: PlanChange): string {
  const isOfEvent = cause === 'event' || cause === 'snapshot';
  return isOfEvent ? `true ${eventId} ${eventCreatedAt?.getTime()}` : '';
}

/** Adds a change to the event or the action that made it. Returns whether one did, or an event of an older page. */
function addToCause(
  change: PlanChange,
  { event, action }: Waiting,
  olderEvents: ReadonlySet<string>,
): boolean {
  const name = nameOfEventIn(change);
  const isByEvent = ({ item, changes }: Entry) =>
    item.kind === 'event' && changes.length === 0 && nameOfEvent(item.event) === name;
  const isByAction = ({ item }: Entry) =>
    item.kind === 'action' && item.action.changes.some(({ id }) => id === change.id);
  const ofEvent = event.find(isByEvent);
  if (ofEvent === undefined && olderEvents.has(name)) return true;
  const cause = ofEvent ?? action.find(isByAction);
  cause?.changes.push(change);
  return cause !== undefined;
}
