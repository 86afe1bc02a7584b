// The consumers of changes of plans: how far each of them is. `feature.ts` calls it, the commands and the health.

import {
  type Database,
  DatabaseUnavailable,
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

const PREFIX = 'plan changes: ';

/** The leased job that a consumer is. Its progress is the id of the last change that was taken for it. */
export const jobOf = (consumer: string) => `${PREFIX}${consumer}`;

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
       where job = $1
         and set_aside_at is null
         and retry_at <= now()
         and not exists (
               select
                 from instep.waiting_plan_changes as earlier
                where earlier.job = $1
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

async function readConsumer(query: Query, consumer: string): Promise<ConsumerPosition | undefined> {
  const [found] = await query<ConsumerPosition>({
    name: 'read_consumer',
    text: `
      select position,
             position < (select coalesce(max(id), 0) from instep.plan_changes)
               or exists (select ${FROM_DUE_CHANGES}) as "hasWork"
        from instep.leased_jobs
       cross join lateral (select (progress ->> 'position')::bigint) as taken (position)
       where name = $1
         and position is not null`,
    values: [jobOf(consumer)],
  });
  return found;
}

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
  if (known !== undefined) return known;
  const position = from === 'now' ? await readSettledId(query, 0) : 0;
  if (position === null) {
    throw new DatabaseUnavailable('a transaction that changes plans has been open for seconds');
  }
  await query({
    name: 'add_consumer',
    text: `
      insert into instep.leased_jobs as job (name, progress)
      values ($1, jsonb_build_object('position', $2::bigint))
          on conflict (name) do update
         set progress = excluded.progress
       where job.progress is null`,
    values: [jobOf(consumer), position],
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
      select substr(name, length($1) + 1) as name,
             position,
             (
               select changed_at
                 from instep.plan_changes
                where id >= coalesce(
                        (
                          select min(change_id)
                            from instep.waiting_plan_changes
                           where job = name
                             and set_aside_at is null
                        ),
                        position + 1
                      )
                order by id
                limit 1
             ) as "behindSince",
             (
               select count(*)
                 from instep.waiting_plan_changes
                where job = name
                  and set_aside_at is not null
             ) as "setAsideCount",
             (
               select coalesce(jsonb_agg(to_jsonb(aside)), '[]')
                 from (
                        select change_id as "changeId", team_id as "teamId",
                               set_aside_at as "setAsideAt", error
                          from instep.waiting_plan_changes
                         where job = name
                           and set_aside_at is not null
                         order by change_id
                         limit 100
                      ) as aside
             ) as "setAside"
        from instep.leased_jobs
       cross join lateral (select (progress ->> 'position')::bigint) as taken (position)
       where starts_with(name, $1)
         and position is not null
       order by name`,
    values: [PREFIX],
  });
}

/** Forgets a consumer, and what waits for it. If a process still runs it, it begins again. */
export async function removeConsumer(query: Query, consumer: string): Promise<void> {
  const text = `
      delete from instep.leased_jobs
       where name = $1
         and progress is not null
      returning name`;
  const removed = await query({ name: 'remove_consumer', text, values: [jobOf(consumer)] });
  if (removed.length > 0) return;
  const message = 'there is no consumer with this name: `instep changes` shows all';
  throw new ConsumerRefused('CONSUMER_UNKNOWN', message);
}

/** Passes a change that was set aside to its consumer again. */
export async function replayChange(query: Query, consumer: string, id: number): Promise<void> {
  const text = `
      update instep.waiting_plan_changes
         set failures     = 0,
             retry_at     = now(),
             set_aside_at = null
       where job = $1
         and change_id = $2
         and set_aside_at is not null
      returning change_id`;
  const replayed = await query({ name: 'replay_change', text, values: [jobOf(consumer), id] });
  if (replayed.length > 0) return;
  const message = `${consumer} has set no change ${id} aside: \`instep changes\` shows all`;
  throw new ConsumerRefused('CHANGE_UNKNOWN', message);
}
