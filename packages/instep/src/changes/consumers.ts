// The table of consumers: how far each of them has handled the changes of plans. `plan-change-feed.ts` calls it, the
// commands and the health.

import {
  type Database,
  DatabaseUnavailable,
  type NamedStatement,
  type Query,
  readNewestChange,
  writersHaveEnded,
} from 'instep-engine/postgres';
import { CodedError } from 'instep-engine/runtime';

/** Where a new consumer starts: with changes from now on, or with the oldest that is kept. */
export type FeedStart = 'now' | 'beginning';

/** A call about a consumer of changes was refused. docs/errors.md has the cause and remedy of each code. */
export class ConsumerRefused extends CodedError<
  'CONSUMER_NAME_INVALID' | 'CONSUMER_UNKNOWN' | 'CHANGE_UNKNOWN'
> {}

/** @throws ConsumerRefused: `CONSUMER_NAME_INVALID` */
export function checkConsumerName(name: string): void {
  if (/^[\w.-]{1,60}$/.test(name)) return;
  const message =
    'the name of a consumer must be 1 to 60 letters, digits, dots, hyphens or underscores';
  throw new ConsumerRefused('CONSUMER_NAME_INVALID', message);
}

/**
 * The id up to which all changes are committed, at least `after`. `null` when that is not certain now: across teams, a
 * change can be committed after one with a higher id.
 */
export async function readSettledId(query: Query, after: number): Promise<number | null> {
  const newestId = await readNewestChange(query);
  if (newestId <= after) return after;
  return (await writersHaveEnded(query, 'instep.plan_changes')) ? newestId : null;
}

/** SQL: the changes that wait and are due, without those of a team whose earlier change waits for another attempt. */
export const FROM_DUE_CHANGES = `
        from instep.waiting_plan_changes as waiting
       where consumer = $1
         and set_aside_at is null
         and retry_at <= now()
         and not exists (
               select
                 from instep.waiting_plan_changes as earlier
                where earlier.consumer = $1
                  and earlier.set_aside_at is null
                  and earlier.team_id = waiting.team_id
                  and earlier.change_id < waiting.change_id
                  and earlier.retry_at > now()
             )`;

type ConsumerPosition = {
  /** Every change up to this one was taken for the consumer. */
  readonly position: number;
  /** Whether there are later ones, or one that waits is due. */
  readonly hasWork: boolean;
};

export async function readConsumer(
  query: Query,
  consumer: string,
): Promise<ConsumerPosition | null> {
  const [progress = null] = await query<ConsumerPosition>({
    name: 'read_consumer',
    text: `
      select position,
             position < (select coalesce(max(id), 0) from instep.plan_changes)
               or exists (select ${FROM_DUE_CHANGES}) as "hasWork"
        from instep.plan_change_consumers
       where name = $1`,
    values: [consumer],
  });
  return progress;
}

/** The job whose lease the process has that works for a consumer. */
export const jobOf = (consumer: string) => `plan changes: ${consumer}`;

/**
 * Adds a consumer, unless it is known already.
 *
 * @throws DatabaseUnavailable while a transaction that changes plans stays open: where *now* begins is not certain
 */
export async function addConsumer(
  query: Query,
  consumer: string,
  from: FeedStart,
): Promise<ConsumerPosition> {
  const known = await readConsumer(query, consumer);
  if (known !== null) return known;
  const position = from === 'now' ? await readSettledId(query, 0) : 0;
  if (position === null) {
    throw new DatabaseUnavailable('a transaction that changes plans has been open for seconds');
  }
  await query({
    name: 'add_consumer',
    text: `
      with consumer as (
        insert into instep.plan_change_consumers (name, position)
        values ($1, $2)
            on conflict do nothing
      )
      insert into instep.leased_jobs (name)
      values ($3)
          on conflict do nothing`,
    values: [consumer, position, jobOf(consumer)],
  });
  return (await readConsumer(query, consumer)) ?? { position, hasWork: false };
}

/** How far a consumer is. */
export type ConsumerState = {
  readonly name: string;
  /** Every change up to this one was taken for it. */
  readonly position: number;
  /** When the oldest change was made that it has not handled yet; `null`: there is none. */
  readonly behindSince: Date | null;
  /** How many changes it failed to handle 20 times. */
  readonly setAsideCount: number;
  /** The first 100 of them. */
  readonly setAside: readonly {
    readonly changeId: number;
    readonly teamId: string;
    readonly setAsideAt: string;
    /** The message of the last failure. */
    readonly error: string;
  }[];
};

/** What an `OperateContext` has. */
export type DatabaseContext = { readonly database: Pick<Database, 'query'> };

/**
 * The consumers of changes, by name: how far each one is, and what it failed to handle.
 *
 * @example
 * ```ts
 * for (const { name, behindSince } of await findConsumers(context)) console.log(name, behindSince);
 * ```
 */
export async function findConsumers({
  database: { query },
}: DatabaseContext): Promise<ConsumerState[]> {
  return await query<ConsumerState>({
    name: 'find_consumers',
    text: `
      select name,
             position,
             (
               select changed_at
                 from instep.plan_changes
                where id >= coalesce(first_id, position + 1)
                order by id
                limit 1
             ) as "behindSince",
             "setAsideCount",
             "setAside"
        from instep.plan_change_consumers
       cross join lateral (
               select min(change_id) filter (where set_aside_at is null) as first_id,
                      count(*) filter (where set_aside_at is not null) as "setAsideCount",
                      coalesce(to_jsonb((
                        array_agg(
                          jsonb_build_object(
                            'changeId', change_id, 'teamId', team_id,
                            'setAsideAt', set_aside_at, 'error', error
                          )
                          order by change_id
                        ) filter (where set_aside_at is not null)
                      )[:100]), '[]') as "setAside"
                 from instep.waiting_plan_changes
                where consumer = name
             ) as taken
       order by name`,
  });
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
  const unknown = 'there is no consumer with this name: `instep changes` shows all';
  throw new ConsumerRefused('CONSUMER_UNKNOWN', unknown);
}
