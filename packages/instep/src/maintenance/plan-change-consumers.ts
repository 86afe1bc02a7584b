import type { Query } from '../postgres/database.ts';
import {
  PLAN_CHANGE,
  type PlanChange,
  readNewestChange,
} from '../postgres/statements/plan-changes.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { writersHaveEnded } from '../postgres/writers.ts';
import { InstepError } from '../runtime/errors.ts';

/** Where a new consumer starts: with changes from now on, or with the oldest that is kept. */
export type FeedStart = 'now' | 'beginning';

/** The name of a consumer is not 1 to 60 letters, digits, dots, hyphens or underscores. */
export class ConsumerNameInvalid extends InstepError {
  readonly code = 'CONSUMER_NAME_INVALID';
}

/** There is no consumer with this name. */
export class ConsumerUnknown extends InstepError {
  readonly code = 'CONSUMER_UNKNOWN';
}

/** There is no change with this id, or none that was set aside. */
export class ChangeUnknown extends InstepError {
  readonly code = 'CHANGE_UNKNOWN';
}

/** @throws ConsumerNameInvalid */
export function checkConsumerName(name: string): void {
  if (/^[\w.-]{1,60}$/.test(name)) return;
  const allowed = '1 to 60 letters, digits, dots, hyphens or underscores';
  throw new ConsumerNameInvalid(`the name of a consumer must be ${allowed}`);
}

/**
 * The id up to which all changes are committed; `after` when that is not certain now: across teams, a change can be
 * committed after one with a higher id.
 */
export async function readSettledId(query: Query, after: number): Promise<number> {
  const newest = await readNewestChange(query);
  if (newest <= after) return after;
  return (await writersHaveEnded(query, 'instep.plan_changes')) ? newest : after;
}

/** The job whose lease the process has that works for a consumer. */
export const jobOf = (consumer: string) => `plan changes: ${consumer}`;

/** How far a consumer is; `null` if it is not known. */
export async function readPosition(query: Query, consumer: string): Promise<number | null> {
  const [row] = await query<{ position: number }>({
    name: 'read_consumer',
    text: 'select position from instep.plan_change_consumers where name = $1',
    values: [consumer],
  });
  return row?.position ?? null;
}

/** Adds a consumer, unless it is known already. Returns how far it is. @throws ConsumerNameInvalid */
export async function addConsumer(
  query: Query,
  consumer: string,
  from: FeedStart,
): Promise<number> {
  checkConsumerName(consumer);
  const known = await readPosition(query, consumer);
  if (known !== null) return known;
  const position = from === 'now' ? await readSettledId(query, 0) : 0;
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
  return (await readPosition(query, consumer)) ?? position;
}

/** Advances a consumer. A consumer is never set back. */
export async function advanceConsumer(query: Query, consumer: string, id: number): Promise<void> {
  await query({
    name: 'advance_consumer',
    text: 'update instep.plan_change_consumers set position = greatest(position, $2) where name = $1',
    values: [consumer, id],
  });
}

/** Forgets a consumer, with what waits for it. Returns whether it was known. */
export async function removeConsumer(query: Query, consumer: string): Promise<boolean> {
  const removed = await query({
    name: 'remove_consumer',
    text: `
      with lease as (
        delete from instep.leased_jobs
         where name = $2
      )
      delete from instep.plan_change_consumers
       where name = $1
      returning name`,
    values: [consumer, jobOf(consumer)],
  });
  return removed.length > 0;
}

/** How many changes are taken at once. */
const PAGE = 100;

/**
 * Takes the next changes up to this one for a consumer, in order, and advances it: they wait in a table of their own
 * until they are handled, so that a change that fails holds up its team alone.
 */
export async function takeChanges(query: Query, consumer: string, upTo: number): Promise<void> {
  await query({
    name: 'take_changes',
    text: `
      with taken as (
        insert into instep.waiting_plan_changes (change_id, consumer, team_id, retry_at)
        select id, name, team_id, now()
          from instep.plan_change_consumers
          join instep.plan_changes on id > position and id <= $2
         where name = $1
         order by id
         limit ${PAGE}
        returning change_id
      )
      update instep.plan_change_consumers
         set position = coalesce((select max(change_id) from taken), $2)
       where name = $1`,
    values: [consumer, upTo],
  });
}

/** SQL: whether a change of the consumer waits, and was not set aside. */
const WAITS = (change: string) => `${change}.consumer = $1 and ${change}.set_aside_at is null`;

const READ_DUE = (tables: ApplicationTables) => `
      select ${PLAN_CHANGE(tables)}, waiting.failures
        from instep.waiting_plan_changes as waiting
        join instep.plan_changes as change on change.id = waiting.change_id
       where ${WAITS('waiting')}
         and waiting.retry_at <= now()
         and not exists (
               select
                 from instep.waiting_plan_changes as earlier
                where ${WAITS('earlier')}
                  and earlier.team_id = waiting.team_id
                  and earlier.change_id < waiting.change_id
                  and earlier.retry_at > now()
             )
       order by change.id
       limit ${PAGE}`;

/** The changes that were taken and are due, in order: none of a team whose earlier change waits for another attempt. */
export async function readDueChanges(
  query: Query,
  consumer: string,
): Promise<(PlanChange & { readonly failures: number })[]> {
  return await query({ name: 'read_due_changes', text: READ_DUE, values: [consumer] });
}

/** Notes that a change is handled. */
export async function noteHandled(query: Query, consumer: string, id: number): Promise<void> {
  await query({
    name: 'note_handled',
    text: 'delete from instep.waiting_plan_changes where change_id = $1 and consumer = $2',
    values: [id, consumer],
  });
}

/** Then the change is set aside, about two hours after the first failure. */
export const MAX_FAILURES = 20;
const LONGEST_PAUSE_MS = 10 * 60_000;

/** Lets a change wait for another attempt, or sets it aside. `failures` includes this one. */
export async function noteFailure(
  query: Query,
  consumer: string,
  id: number,
  { failures, error }: { readonly failures: number; readonly error: string },
): Promise<void> {
  const pauseMs = Math.min(2 ** (failures - 1) * 1_000, LONGEST_PAUSE_MS);
  await query({
    name: 'note_failure',
    text: `
      update instep.waiting_plan_changes
         set failures     = $3,
             error        = $4,
             retry_at     = now() + $5 * interval '1 millisecond',
             set_aside_at = case when $6 then now() end
       where change_id = $1
         and consumer = $2`,
    values: [id, consumer, failures, error, pauseMs, failures >= MAX_FAILURES],
  });
}

/** How far a consumer is. */
export type ConsumerState = {
  readonly name: string;
  /** Every change up to this one was taken for it. */
  readonly position: number;
  /** When the oldest change was made that was not passed to it yet; `null`: there is none. */
  readonly behindSince: Date | null;
  /** The changes that were taken and are not handled yet. */
  readonly waiting: number;
  /** The changes that it failed to handle 20 times, up to 100. */
  readonly setAside: readonly SetAsideChange[];
};

export type SetAsideChange = {
  readonly changeId: number;
  readonly teamId: string;
  readonly setAsideAt: string;
  /** The message of the last failure. */
  readonly error: string | null;
};

/** All consumers, by name. */
export async function readConsumers(query: Query): Promise<ConsumerState[]> {
  return await query<ConsumerState>({
    name: 'read_consumers',
    text: `
      select name,
             position,
             least(
               (
                 select changed_at
                   from instep.plan_changes
                  where id > position
                  order by id
                  limit 1
               ),
               (
                 select min(changed_at)
                   from instep.waiting_plan_changes
                   join instep.plan_changes on id = change_id
                  where consumer = name
                    and failures = 0
                    and set_aside_at is null
               )
             ) as "behindSince",
             (
               select count(*)
                 from instep.waiting_plan_changes
                where consumer = name
                  and set_aside_at is null
             ) as waiting,
             coalesce(
               (
                 select jsonb_agg(
                          jsonb_build_object(
                            'changeId', change_id,
                            'teamId', team_id,
                            'setAsideAt', set_aside_at,
                            'error', error
                          ) order by change_id
                        )
                   from (
                          select *
                            from instep.waiting_plan_changes
                           where consumer = name
                             and set_aside_at is not null
                           order by change_id
                           limit ${PAGE}
                        ) as aside
               ),
               '[]'
             ) as "setAside"
        from instep.plan_change_consumers
       order by name`,
  });
}

/** Passes on a change that was set aside, again. Returns whether there was one. */
export async function replayChange(
  query: Query,
  consumer: string,
  changeId: number,
): Promise<boolean> {
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
  return rows.length > 0;
}
