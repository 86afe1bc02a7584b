import {
  addConsumer,
  ConsumerRefused,
  type ConsumerState,
  type FeedStart,
  jobOf,
  readConsumer,
  readConsumers,
  readSettledId,
} from '../maintenance/plan-change-feed.ts';
import type { Query } from '../postgres/database.ts';
import type { NamedStatement } from '../postgres/statement.ts';
import {
  MAX_PLAN_CHANGES,
  PLAN_CHANGE,
  type PlanChange,
  readTeamChanges,
  type TeamChangesRequest,
} from '../postgres/statements/plan-changes.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import type { OperateContext } from './context.ts';

/** For a consumer that is not `onPlanChange`. */
export type NewChangesRequest = {
  readonly consumer: string;
  /** Where a consumer starts that is not known yet; `now` by default. */
  readonly from?: FeedStart;
  /** Only changes after this one, if it is later than the last one that was acknowledged. */
  readonly afterId?: number;
  /** At most 1,000; 100 by default. */
  readonly limit?: number;
};

const READ_NEW_CHANGES = (tables: ApplicationTables) => `
      select ${PLAN_CHANGE(tables)}
        from instep.plan_changes as change
       where id > $1
         and id <= $2
       order by id
       limit $3`;

/**
 * The changes of a team's plan, the newest first; or those that a consumer has not acknowledged yet, in order.
 *
 * @throws InstepError: `CONSUMER_NAME_INVALID`; `DATABASE_UNAVAILABLE` also while a transaction that changes plans keeps
 *   it from being certain where a new consumer begins
 * @example
 * ```ts
 * console.log((await readPlanChanges(context, { teamId: 1 })).length); // 0
 * console.log((await readPlanChanges(context, { consumer: 'mailer' })).length); // 0
 * ```
 */
export async function readPlanChanges(
  { database: { query } }: OperateContext,
  request: TeamChangesRequest | NewChangesRequest,
): Promise<PlanChange[]> {
  if ('teamId' in request) return await readTeamChanges(query, request);
  const { consumer, from = 'now', afterId = 0, limit = 100 } = request;
  const after = Math.max((await addConsumer(query, consumer, from)).position, afterId);
  const values = [after, await readSettledId(query, after), Math.min(limit, MAX_PLAN_CHANGES)];
  return await query<PlanChange>({ name: 'read_new_changes', text: READ_NEW_CHANGES, values });
}

/**
 * Notes that a consumer has handled all changes up to this one.
 *
 * @throws InstepError: `CONSUMER_UNKNOWN`, or `CHANGE_UNKNOWN` for an id that no change has yet
 * @example
 * ```ts
 * for (const { id } of await readPlanChanges(context, { consumer: 'mailer' })) {
 *   await acknowledgeChanges(context, 'mailer', id);
 * }
 * ```
 */
export async function acknowledgeChanges(
  { database: { query } }: OperateContext,
  consumer: string,
  id: number,
): Promise<void> {
  const text = `
      update instep.plan_change_consumers
         set position = greatest(position, $2)
       where name = $1
         and $2 <= (select max(id) from instep.plan_changes)
      returning name`;
  const advancing = { name: 'advance_consumer', text, values: [consumer, id] };
  await change(query, consumer, advancing, `no change has the id ${id} yet`);
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
  const text = `
      with lease as (
        delete from instep.leased_jobs
         where name = $2
      )
      delete from instep.plan_change_consumers
       where name = $1
      returning position`;
  const removing = { name: 'remove_consumer', text, values: [consumer, jobOf(consumer)] };
  return (await change<{ position: number }>(query, consumer, removing)).position;
}

/** Passes a change that was set aside to its consumer again. */
export async function replayChange(query: Query, consumer: string, id: number): Promise<void> {
  const text = `
      update instep.waiting_plan_changes
         set failures     = 0,
             retry_at     = now(),
             set_aside_at = null
       where consumer = $1
         and change_id = $2
         and set_aside_at is not null
      returning change_id`;
  const replaying = { name: 'replay_change', text, values: [consumer, id] };
  const message = `no change ${id} of this consumer was set aside`;
  await change(query, consumer, replaying, message);
}

/** Runs a statement that returns a row. @throws ConsumerRefused if it does not, with this message for a known consumer */
async function change<Row extends object>(
  query: Query,
  consumer: string,
  statement: NamedStatement,
  message = '',
): Promise<Row> {
  const [row] = await query<Row>(statement);
  if (row !== undefined) return row;
  if ((await readConsumer(query, consumer)) !== null) {
    throw new ConsumerRefused('CHANGE_UNKNOWN', message);
  }
  const unknown = 'there is no consumer with this name: `instep changes --list` shows all';
  throw new ConsumerRefused('CONSUMER_UNKNOWN', unknown);
}
