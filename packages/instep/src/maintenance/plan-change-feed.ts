import type { Database, Query } from '../postgres/database.ts';
import { DatabaseUnavailable } from '../postgres/errors.ts';
import {
  PLAN_CHANGE,
  type PlanChange,
  readChanges,
  readNewestChange,
  readOpenWriters,
} from '../postgres/statements/plan-changes.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { InstepError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logging.ts';
import { pause, Stopped } from '../runtime/retry.ts';
import { type LeasedRun, withLease } from './lease.ts';
import type { Job } from './worker.ts';

/** Is called with each change of a plan. If it throws or rejects, it is called again later. */
export type PlanChangeHandler = (change: PlanChange) => unknown;

/** Where a new consumer starts: with changes from now on, or with the oldest that is kept. */
export type FeedStart = 'now' | 'beginning';

export type FeedOptions = {
  /** `now` by default. A consumer that is known already continues where it was. */
  readonly from?: FeedStart;
};

/** A handler that is called with changes of plans. */
export type Feed = {
  /** Passes on no more changes. Resolves when the change that is being handled is done. */
  stop(): Promise<void>;
};

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

const WRITERS_PAUSE_MS = 20;
const WRITERS_DEADLINE_MS = 5_000;

/**
 * The id up to which all changes are committed; `after` when that is not certain now. Across teams, a change can be
 * committed after one with a higher id. So the transactions that write changes now are awaited: one that has taken an
 * id below the newest is among them, or has ended. Those that begin later get higher ids.
 */
export async function readSettledId(query: Query, after: number): Promise<number> {
  const newest = await readNewestChange(query);
  if (newest <= after) return after;
  let open = await readOpenWriters(query);
  const deadlineMs = performance.now() + WRITERS_DEADLINE_MS;
  while (open.length > 0) {
    if (performance.now() > deadlineMs) return after;
    await pause(WRITERS_PAUSE_MS);
    const current = new Set(await readOpenWriters(query));
    open = open.filter((writer) => current.has(writer));
  }
  return newest;
}

const jobOf = (consumer: string) => `plan changes: ${consumer}`;

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
  database: Database,
  consumer: string,
  from: FeedStart,
): Promise<number> {
  checkConsumerName(consumer);
  const known = await readPosition(database.query, consumer);
  if (known !== null) return known;
  const position = from === 'now' ? await readSettledId(database.query, 0) : 0;
  await database.transaction(async (query) => {
    await query({
      name: 'add_consumer',
      text: `
        insert into instep.plan_change_consumers (name, position)
        values ($1, $2)
            on conflict do nothing`,
      values: [consumer, position],
    });
    await query({
      name: 'add_consumer_lease',
      text: 'insert into instep.leased_jobs (name) values ($1) on conflict do nothing',
      values: [jobOf(consumer)],
    });
  });
  return (await readPosition(database.query, consumer)) ?? position;
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
export async function removeConsumer(database: Database, consumer: string): Promise<boolean> {
  return await database.transaction(async (query) => {
    const removed = await query({
      name: 'remove_consumer',
      text: 'delete from instep.plan_change_consumers where name = $1 returning name',
      values: [consumer],
    });
    const job = { name: 'remove_consumer_lease', values: [jobOf(consumer)] };
    await query({ ...job, text: 'delete from instep.leased_jobs where name = $1' });
    return removed.length > 0;
  });
}

const READ_DUE = (tables: ApplicationTables) => `
      select ${PLAN_CHANGE(tables)}, waiting.failures
        from instep.waiting_plan_changes as waiting
        join instep.plan_changes as change on change.id = waiting.change_id
       where waiting.consumer = $1
         and waiting.set_aside_at is null
         and waiting.retry_at <= now()
         and not exists (
               select
                 from instep.waiting_plan_changes as earlier
                where earlier.consumer = $1
                  and earlier.team_id = waiting.team_id
                  and earlier.change_id < waiting.change_id
                  and earlier.set_aside_at is null
             )
       order by change.id
       limit $2`;

/** The first waiting change of each team, if it is due. */
const readDue = (query: Query, consumer: string) =>
  query<PlanChange & { failures: number }>({
    name: 'read_due_changes',
    text: READ_DUE,
    values: [consumer, PAGE],
  });

/** The teams with a change that waits. */
async function readWaitingTeams(query: Query, consumer: string): Promise<Set<string>> {
  const rows = await query<{ teamId: string }>({
    name: 'read_waiting_teams',
    text: `
      select distinct team_id as "teamId"
        from instep.waiting_plan_changes
       where consumer = $1
         and set_aside_at is null`,
    values: [consumer],
  });
  return new Set(rows.map(({ teamId }) => teamId));
}

type Waiting = { failures: number; error: string | null };

/** Lets a change wait after a failure, or behind an earlier change of its team. */
async function keepWaiting(
  query: Query,
  consumer: string,
  { id, teamId }: PlanChange,
  { failures, error }: Waiting,
): Promise<void> {
  const pauseMs = failures === 0 ? 0 : Math.min(2 ** (failures - 1) * 1_000, LONGEST_PAUSE_MS);
  await query({
    name: 'keep_waiting',
    text: `
      insert into instep.waiting_plan_changes
             (change_id, consumer, team_id, failures, error, retry_at, set_aside_at)
      values ($1, $2, $3, $4, $5, now() + $6 * interval '1 millisecond', case when $7 then now() end)
          on conflict (change_id, consumer) do update
         set failures     = excluded.failures,
             error        = excluded.error,
             retry_at     = excluded.retry_at,
             set_aside_at = excluded.set_aside_at`,
    values: [id, consumer, String(teamId), failures, error, pauseMs, failures >= MAX_FAILURES],
  });
}

const stopWaiting = (query: Query, consumer: string, { id }: PlanChange) =>
  query({
    name: 'stop_waiting',
    text: 'delete from instep.waiting_plan_changes where change_id = $1 and consumer = $2',
    values: [id, consumer],
  });

/** Then the change is set aside, about two hours after the first failure. */
export const MAX_FAILURES = 20;
const LONGEST_PAUSE_MS = 10 * 60_000;

const PAGE = 100;
const POLL_INTERVAL_MS = 1_000;

/** Another process takes over after this time and a poll. */
const LEASE_MS = 8_000;

/** A handler that takes longer has failed, and is called again. */
const HANDLER_DEADLINE_MS = 5 * 60_000;

const MAX_ERROR_LENGTH = 500;

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

/** The consumers of a process. */
export class PlanChangeConsumers {
  #options: ConsumersOptions;
  #feeds = new Map<string, Feed & { readonly consumer: Consumer }>();

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
    const loop = this.#options.isOnDemand
      ? former
      : former.then(() => this.#repeat(consumer, signal));
    const feed = {
      consumer,
      stop: async () => {
        stopping.abort();
        if (this.#feeds.get(name) === feed) this.#feeds.delete(name);
        await loop;
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
    run: async (signal) => {
      const errors: unknown[] = [];
      for (const { consumer } of [...this.#feeds.values()]) {
        try {
          await this.#lease(consumer, signal, (run) => this.#passAll(run, consumer, signal));
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
    await addConsumer(database, name, from);
    const lease = { name: jobOf(name), holder, dueAfterMs: 0, leaseMs: LEASE_MS };
    await withLease(database.query, lease, work);
  }

  async #passAll(run: LeasedRun, consumer: Consumer, signal: AbortSignal): Promise<void> {
    for (let passed = 1; passed > 0 && !signal.aborted; ) {
      passed = await this.#passDue(run, consumer, signal);
      passed += await this.#passNew(run, consumer, signal);
    }
  }

  /** Passes on waiting changes. Returns how many. */
  async #passDue(run: LeasedRun, consumer: Consumer, signal: AbortSignal): Promise<number> {
    const { name } = consumer;
    const due = await readDue(this.#options.database.query, name);
    for (const { failures, ...change } of due) {
      if (signal.aborted) break;
      const error = await this.#call(consumer, change, failures);
      await this.#commit(run, (query) =>
        error === null
          ? stopWaiting(query, name, change)
          : keepWaiting(query, name, change, { failures: failures + 1, error }),
      );
    }
    return due.length;
  }

  /** Passes on the next changes. One that fails waits, and so do later ones of its team. Returns how many. */
  async #passNew(run: LeasedRun, consumer: Consumer, signal: AbortSignal): Promise<number> {
    const { query } = this.#options.database;
    const { name } = consumer;
    const position = await readPosition(query, name);
    // An operator has removed the consumer.
    if (position === null) throw new Stopped();
    const settled = await readSettledId(query, position);
    if (settled === position) return 0;
    const changes = await readChanges(query, { after: position, upTo: settled, limit: PAGE });
    const waitingTeams = await readWaitingTeams(query, name);
    for (const change of changes) {
      if (signal.aborted) break;
      const teamId = String(change.teamId);
      const isWaiting = waitingTeams.has(teamId);
      const error = isWaiting ? null : await this.#call(consumer, change, 0);
      if (error !== null) waitingTeams.add(teamId);
      const waiting = { failures: isWaiting ? 0 : 1, error };
      await this.#commit(run, async (inside) => {
        if (waitingTeams.has(teamId)) await keepWaiting(inside, name, change, waiting);
        await advanceConsumer(inside, name, change.id);
      });
    }
    return changes.length;
  }

  /** What became of a change is stored only while this process has the lease. */
  async #commit(run: LeasedRun, write: (query: Query) => Promise<unknown>): Promise<void> {
    await this.#options.database.transaction(async (query) => {
      await run.saveProgress({}, query);
      await write(query);
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

/** How far a consumer is. */
export type ConsumerState = {
  readonly name: string;
  /** Every change up to this one was passed to it, or waits for it. */
  readonly position: number;
  /** The oldest change that was not passed to it yet; `null`: there is none. */
  readonly behindSince: Date | null;
  /** The changes that wait for another attempt, or behind one that does. */
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
             (
               select changed_at
                 from instep.plan_changes
                where id > position
                order by id
                limit 1
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
