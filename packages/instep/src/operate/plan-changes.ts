import {
  addConsumer,
  ChangeUnknown,
  type ConsumerState,
  ConsumerUnknown,
  type FeedStart,
  jobOf,
  readConsumers,
  readPosition,
  readSettledId,
} from '../maintenance/plan-change-feed.ts';
import type { Query } from '../postgres/database.ts';
import {
  MAX_PLAN_CHANGES,
  type PlanChange,
  readChanges,
  readNewestChange,
  readTeamChanges,
  type TeamChangesRequest,
} from '../postgres/statements/plan-changes.ts';
import type { OperateContext } from './context.ts';

/**
 * The changes of a team's plan, the newest first.
 *
 * @example
 * ```ts
 * console.log((await readPlanChanges(context, { teamId: 1 })).length); // 0
 * ```
 */
export async function readPlanChanges(
  { database }: OperateContext,
  request: TeamChangesRequest,
): Promise<PlanChange[]> {
  return await readTeamChanges(database.query, request);
}

export type NewChangesRequest = {
  readonly consumer: string;
  /** Where a consumer starts that is not known yet; `now` by default. */
  readonly from?: FeedStart;
  /** Only changes after this one, if it is later than the last one that was acknowledged. */
  readonly afterId?: number;
  /** At most 1,000; 100 by default. */
  readonly limit?: number;
};

const DEFAULT_LIMIT = 100;

/**
 * The changes that a consumer has not acknowledged yet, in order. For a consumer that is not `onPlanChange`.
 *
 * @throws InstepError: `CONSUMER_NAME_INVALID`; `DATABASE_UNAVAILABLE` also while a transaction that changes plans keeps
 *   it from being certain where a new consumer begins
 * @example
 * ```ts
 * console.log((await readNewChanges(context, { consumer: 'mailer' })).length); // 0
 * ```
 */
export async function readNewChanges(
  { database }: OperateContext,
  { consumer, from = 'now', afterId = 0, limit = DEFAULT_LIMIT }: NewChangesRequest,
): Promise<PlanChange[]> {
  const after = Math.max(await addConsumer(database.query, consumer, from), afterId);
  const upTo = await readSettledId(database.query, after);
  if (upTo === null || upTo === after) return [];
  const page = { after, upTo, limit: Math.min(limit, MAX_PLAN_CHANGES) };
  return await readChanges(database.query, page);
}

/**
 * Notes that a consumer has handled all changes up to this one.
 *
 * @throws InstepError: `CONSUMER_UNKNOWN`, or `CHANGE_UNKNOWN` for an id that no change has yet
 * @example
 * ```ts
 * for (const { id } of await readNewChanges(context, { consumer: 'mailer' })) {
 *   await acknowledgeChanges(context, 'mailer', id);
 * }
 * ```
 */
export async function acknowledgeChanges(
  { database: { query } }: OperateContext,
  consumer: string,
  id: number,
): Promise<void> {
  await requireConsumer(query, consumer);
  if (id > (await readNewestChange(query))) {
    throw new ChangeUnknown(`no change has the id ${id} yet`);
  }
  await query({
    name: 'advance_consumer',
    text: 'update instep.plan_change_consumers set position = greatest(position, $2) where name = $1',
    values: [consumer, id],
  });
}

/** How far the consumer is. */
async function requireConsumer(query: Query, consumer: string): Promise<number> {
  const position = await readPosition(query, consumer);
  if (position !== null) return position;
  throw new ConsumerUnknown(
    'there is no consumer with this name: `instep changes --list` shows all',
  );
}

/**
 * The consumers of changes: how far each one is, and what it failed to handle.
 *
 * @example
 * ```ts
 * for (const { name, behindSince } of await findConsumers(context)) console.log(name, behindSince);
 * ```
 */
export async function findConsumers({ database }: OperateContext): Promise<ConsumerState[]> {
  return await readConsumers(database.query);
}

/** Forgets a consumer, and what waits for it. Returns how far it was. If a process still runs it, it begins again. */
export async function removeConsumer(query: Query, consumer: string): Promise<number> {
  const position = await requireConsumer(query, consumer);
  await query({
    name: 'remove_consumer',
    text: `
      with lease as (
        delete from instep.leased_jobs
         where name = $2
      )
      delete from instep.plan_change_consumers
       where name = $1`,
    values: [consumer, jobOf(consumer)],
  });
  return position;
}

/** Passes a change that was set aside to its consumer again. */
export async function replayChange(
  query: Query,
  consumer: string,
  changeId: number,
): Promise<void> {
  await requireConsumer(query, consumer);
  const rows = await query({
    name: 'replay_change',
    text: `
      update instep.waiting_plan_changes
         set failures     = 0,
             retry_at     = now(),
             set_aside_at = null
       where consumer = $1
         and change_id = $2
         and set_aside_at is not null
      returning change_id`,
    values: [consumer, changeId],
  });
  if (rows.length === 0)
    throw new ChangeUnknown(`no change ${changeId} of this consumer was set aside`);
}
