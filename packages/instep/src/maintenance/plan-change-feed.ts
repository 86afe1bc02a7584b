import type { ApplicationId } from '../core/application.ts';
import type { Database, Query } from '../postgres/database.ts';
import { DatabaseUnavailable } from '../postgres/errors.ts';
import type { NamedStatement } from '../postgres/statement.ts';
import {
  PLAN_CHANGE,
  type PlanChange,
  readNewestChange,
} from '../postgres/statements/plan-changes.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { writersHaveEnded } from '../postgres/writers.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { InstepError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logging.ts';
import { pause, Stopped } from '../runtime/retry.ts';
import { type LeasedRun, withLease } from './lease.ts';
import type { Job } from './worker.ts';

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
 * The id up to which all changes are committed, at least `after`. `null` when that is not certain now: across teams, a
 * change can be committed after one with a higher id.
 */
export async function readSettledId(query: Query, after: number): Promise<number | null> {
  const newest = await readNewestChange(query);
  if (newest <= after) return after;
  return (await writersHaveEnded(query, 'instep.plan_changes')) ? newest : null;
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

/**
 * Adds a consumer, unless it is known already. Returns how far it is.
 *
 * @throws ConsumerNameInvalid
 * @throws DatabaseUnavailable while a transaction that changes plans stays open: where *now* begins is not certain
 */
export async function addConsumer(
  query: Query,
  consumer: string,
  from: FeedStart,
): Promise<number> {
  checkConsumerName(consumer);
  const known = await readPosition(query, consumer);
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
  return (await readPosition(query, consumer)) ?? position;
}

/** How many changes are taken at once. */
const PAGE = 100;

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

/** Is called with each change of a plan. If it throws or rejects, it is called again later. */
export type PlanChangeHandler = (change: PlanChange) => unknown;

export type FeedOptions = {
  /** `now` by default. A consumer that is known already continues where it was. */
  readonly from?: FeedStart;
};

/** A handler that is called with changes of plans. */
export type Feed = {
  /** Passes on no more changes. Resolves when the change that is being handled is done. */
  stop(): Promise<void>;
};

const POLL_INTERVAL_MS = 1_000;

/** Another process takes over after this time and a poll. */
const LEASE_MS = 8_000;

/** A handler that takes longer has failed, and is called again. */
const HANDLER_DEADLINE_MS = 5 * 60_000;

const MAX_ERROR_LENGTH = 500;

/**
 * Takes the next changes for a consumer, and advances it: they wait in a table of their own until they are handled, so
 * that a change that fails holds up its team alone.
 */
const TAKE_CHANGES = `
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
       where name = $1`;

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

const handled = (consumer: string, changeId: number) => ({
  name: 'note_handled',
  text: 'delete from instep.waiting_plan_changes where change_id = $1 and consumer = $2',
  values: [changeId, consumer],
});

/** Then the change is set aside, about two hours after the first failure. */
const MAX_FAILURES = 20;
const LONGEST_PAUSE_MS = 10 * 60_000;

/** The change waits for another attempt, or is set aside. `failures` includes this one. */
function failed(consumer: string, changeId: number, failures: number, error: string) {
  const pauseMs = Math.min(2 ** (failures - 1) * 1_000, LONGEST_PAUSE_MS);
  return {
    name: 'note_failure',
    text: `
      update instep.waiting_plan_changes
         set failures     = $3,
             error        = $4,
             retry_at     = now() + $5 * interval '1 millisecond',
             set_aside_at = case when $6 then now() end
       where change_id = $1
         and consumer = $2`,
    values: [changeId, consumer, failures, error, pauseMs, failures >= MAX_FAILURES],
  };
}

type Consumer = {
  readonly name: string;
  readonly handler: PlanChangeHandler;
  readonly from: FeedStart;
};

type ConsumersOptions = {
  readonly database: Database;
  readonly logger: Logger;
  /** This process. */
  readonly holder: string;
  /** Whether consumers run only in `job`, because the process does not live between requests. */
  readonly isOnDemand: boolean;
};

type StartedFeed = Feed & {
  readonly consumer: Consumer;
  /** Aborted when it is stopped. */
  readonly signal: AbortSignal;
  /** What is passed on now. */
  passing: Promise<unknown>;
};

/** The consumers of a process. */
export class PlanChangeConsumers {
  #options: ConsumersOptions;
  #feeds = new Map<string, StartedFeed>();

  constructor(options: ConsumersOptions) {
    this.#options = options;
  }

  /** Starts a consumer, in place of one with the same name in this process. @throws ConsumerNameInvalid */
  start(name: string, handler: PlanChangeHandler, { from = 'now' }: FeedOptions = {}): Feed {
    checkConsumerName(name);
    const consumer = { name, handler, from };
    const former = this.#feeds.get(name)?.stop() ?? Promise.resolve();
    const stopping = new AbortController();
    const { signal } = stopping;
    const feed: StartedFeed = {
      consumer,
      signal,
      passing: this.#options.isOnDemand
        ? former
        : former.then(() => this.#repeat(consumer, signal)),
      stop: async () => {
        stopping.abort();
        if (this.#feeds.get(name) === feed) this.#feeds.delete(name);
        await Promise.allSettled([feed.passing]);
      },
    };
    this.#feeds.set(name, feed);
    return feed;
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#feeds.values()].map((feed) => feed.stop()));
  }

  /** Passes on everything that is due, for a process that does not live between requests. */
  readonly job: Job = {
    name: 'plan-changes',
    intervalMs: 0,
    run: async (ending) => {
      const errors: unknown[] = [];
      for (const feed of [...this.#feeds.values()]) {
        const { consumer } = feed;
        const signal = AbortSignal.any([ending, feed.signal]);
        try {
          feed.passing = this.#lease(consumer, signal, (run) =>
            this.#passAll(run, consumer, signal),
          );
          await feed.passing;
        } catch (err) {
          this.#logFailure(consumer, err);
          errors.push(err);
        }
      }
      // The run has failed, but not for the consumers after the first failure.
      if (errors.length > 0) throw errors[0];
    },
  };

  async #repeat(consumer: Consumer, signal: AbortSignal): Promise<void> {
    const pausing = { signal, ref: false };
    while (!signal.aborted) {
      try {
        await this.#lease(consumer, signal, async (run) => {
          while (!signal.aborted) {
            await this.#passAll(run, consumer, signal);
            await pause(POLL_INTERVAL_MS, pausing);
          }
        });
      } catch (err) {
        this.#logFailure(consumer, err);
      }
      await pause(POLL_INTERVAL_MS, pausing);
    }
  }

  #logFailure({ name }: Consumer, err: unknown): void {
    if (err instanceof Stopped) return;
    const level = err instanceof DatabaseUnavailable ? 'debug' : 'warn';
    this.#options.logger[level]({ consumer: name, err }, 'changes of plans not passed on');
  }

  async #lease(
    { name, from }: Consumer,
    signal: AbortSignal,
    work: (run: LeasedRun) => Promise<void>,
  ): Promise<void> {
    const { database, holder } = this.#options;
    if (signal.aborted) return;
    await addConsumer(database.query, name, from);
    const lease = { name: jobOf(name), holder, dueAfterMs: 0, leaseMs: LEASE_MS };
    await withLease(database.query, lease, work);
  }

  /** Passes on the changes that are due, and takes the next ones, until there is nothing left to do. */
  async #passAll(run: LeasedRun, consumer: Consumer, signal: AbortSignal): Promise<void> {
    const { name } = consumer;
    while (!signal.aborted) {
      // None of a team whose earlier change waits for another attempt.
      const due = await this.#options.database.query<PlanChange & { failures: number }>({
        name: 'read_due_changes',
        text: READ_DUE,
        values: [name],
      });
      if (due.length === 0 && !(await this.#takeNext(run, name))) return;
      const failedTeams = new Set<ApplicationId>();
      for (const { failures, ...change } of due) {
        if (signal.aborted) return;
        if (failedTeams.has(change.teamId)) continue;
        const error = await this.#call(consumer, change, failures);
        if (error !== null) failedTeams.add(change.teamId);
        await this.#commit(
          run,
          error === null ? handled(name, change.id) : failed(name, change.id, failures + 1, error),
        );
      }
    }
  }

  /** Takes the next changes, up to the last one before which all are committed. Returns whether there are any. */
  async #takeNext(run: LeasedRun, name: string): Promise<boolean> {
    const { query } = this.#options.database;
    const position = await readPosition(query, name);
    // An operator has removed the consumer.
    if (position === null) throw new Stopped();
    const settled = await readSettledId(query, position);
    if (settled === null || settled === position) return false;
    await this.#commit(run, { name: 'take_changes', text: TAKE_CHANGES, values: [name, settled] });
    return true;
  }

  /** What became of a change is stored only while this process has the lease. */
  async #commit(run: LeasedRun, statement: NamedStatement): Promise<void> {
    await this.#options.database.transaction(async (query) => {
      await run.saveProgress({}, query);
      await query(statement);
    });
  }

  /** Returns the message of the handler's error; `null`: the change is handled. */
  async #call(
    { name, handler }: Consumer,
    change: PlanChange,
    failures: number,
  ): Promise<string | null> {
    try {
      await withDeadline((async () => handler(change))(), HANDLER_DEADLINE_MS);
      return null;
    } catch (err) {
      const { id: changeId, teamId } = change;
      const line = { consumer: name, changeId, teamId, failures: failures + 1, err };
      const isLast = failures + 1 >= MAX_FAILURES;
      this.#options.logger[isLast ? 'error' : 'warn'](line, 'change of a plan not handled');
      const message = err instanceof Error ? err.message : String(err);
      return message.replaceAll('\0', '').toWellFormed().slice(0, MAX_ERROR_LENGTH);
    }
  }
}
