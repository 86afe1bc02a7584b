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
import { type LeasedRun, withLease } from './lease.ts';
import { type Job, startMaintenance } from './worker.ts';

/** Where a new consumer starts: with changes from now on, or with the oldest that is kept. */
export type FeedStart = 'now' | 'beginning';

/** A call about a consumer of changes was refused. docs/errors.md has the cause and remedy of each code. */
export class ConsumerRefused extends InstepError {
  readonly code: 'CONSUMER_NAME_INVALID' | 'CONSUMER_UNKNOWN' | 'CHANGE_UNKNOWN';

  constructor(code: ConsumerRefused['code'], message: string) {
    super(message);
    this.code = code;
  }
}

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
  const newest = await readNewestChange(query);
  if (newest <= after) return after;
  return (await writersHaveEnded(query, 'instep.plan_changes')) ? newest : null;
}

/** SQL: the first change of each team that waits, if it is time for an attempt. */
const DUE = `
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
             )`;

type Known = {
  /** Every change up to this one was taken for the consumer. */
  readonly position: number;
  /** Whether there are later ones, or one that waits is due. */
  readonly hasWork: boolean;
};

export async function readConsumer(query: Query, consumer: string): Promise<Known | null> {
  const [known = null] = await query<Known>({
    name: 'read_consumer',
    text: `
      select position,
             position < (select coalesce(max(id), 0) from instep.plan_changes)
               or exists (select ${DUE}) as "hasWork"
        from instep.plan_change_consumers
       where name = $1`,
    values: [consumer],
  });
  return known;
}

/** The job whose lease the process has that works for a consumer. */
export const jobOf = (consumer: string) => `plan changes: ${consumer}`;

/**
 * Adds a consumer, unless it is known already.
 *
 * @throws ConsumerRefused: `CONSUMER_NAME_INVALID`
 * @throws DatabaseUnavailable while a transaction that changes plans stays open: where *now* begins is not certain
 */
export async function addConsumer(query: Query, consumer: string, from: FeedStart): Promise<Known> {
  checkConsumerName(consumer);
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
      select name, position, "behindSince", waiting, coalesce("setAside", '[]') as "setAside"
        from instep.plan_change_consumers
       cross join lateral (
               select count(*) filter (where set_aside_at is null) as waiting,
                      min(change_id) filter (where set_aside_at is null) as first_id,
                      to_jsonb((array_agg(
                        jsonb_build_object(
                          'changeId', change_id,
                          'teamId', team_id,
                          'setAsideAt', set_aside_at,
                          'error', error
                        ) order by change_id
                      ) filter (where set_aside_at is not null))[:100]) as "setAside"
                 from instep.waiting_plan_changes
                where consumer = name
             ) as taken
        left join lateral (
               select changed_at as "behindSince"
                 from instep.plan_changes
                where id >= coalesce(first_id, position + 1)
                order by id
                limit 1
             ) as oldest on true
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
         limit 100
        returning change_id
      )
      update instep.plan_change_consumers
         set position = coalesce((select max(change_id) from taken), $2)
       where name = $1`;

const READ_DUE = (tables: ApplicationTables) => `
      select ${PLAN_CHANGE(tables)}
        from instep.plan_changes as change
       where id in (select change_id ${DUE})
       order by id
       limit 100`;

const NOTE_HANDLED =
  'delete from instep.waiting_plan_changes where consumer = $1 and change_id = $2';

/** About two hours after the first failure, the change is set aside. */
const NOTE_FAILURE = `
      update instep.waiting_plan_changes
         set failures     = failures + 1,
             error        = $3,
             retry_at     = now() + least(2 ^ failures, 600) * interval '1 second',
             set_aside_at = case when failures + 1 >= 20 then now() end
       where consumer = $1
         and change_id = $2
      returning failures, set_aside_at is not null as "isSetAside"`;

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
  /** Whether consumers run only as `jobs`, because the process does not live between requests. */
  readonly isOnDemand: boolean;
};

/** The consumers of a process. */
export class PlanChangeConsumers {
  #options: ConsumersOptions;
  #feeds = new Map<string, Feed & { readonly job: Job }>();

  constructor(options: ConsumersOptions) {
    this.#options = options;
  }

  /** Starts a consumer, in place of one with the same name in this process. @throws ConsumerRefused */
  start(name: string, handler: PlanChangeHandler, { from = 'now' }: FeedOptions = {}): Feed {
    checkConsumerName(name);
    const { isOnDemand, logger } = this.#options;
    const former = this.#feeds.get(name)?.stop();
    let isStopped = false;
    let passing = Promise.resolve();
    const job: Job = {
      name: jobOf(name),
      intervalMs: isOnDemand ? 0 : POLL_INTERVAL_MS,
      run: async (signal) => {
        await former;
        passing = this.#passAll({ name, handler, from }, () => isStopped || signal.aborted);
        await passing;
      },
    };
    const worker = isOnDemand ? null : startMaintenance(async () => [job], { logger });
    const feed = {
      job,
      stop: async () => {
        isStopped = true;
        if (this.#feeds.get(name) === feed) this.#feeds.delete(name);
        await Promise.allSettled([former, worker?.stop(), passing]);
      },
    };
    this.#feeds.set(name, feed);
    return feed;
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#feeds.values()].map((feed) => feed.stop()));
  }

  jobs(): Job[] {
    return [...this.#feeds.values()].map(({ job }) => job);
  }

  /** Passes on the changes that are due, and takes the next ones, until there is nothing left to do. */
  async #passAll(consumer: Consumer, isOver: () => boolean): Promise<void> {
    const { name, from } = consumer;
    const { database, holder } = this.#options;
    if (isOver() || !(await addConsumer(database.query, name, from)).hasWork) return;
    const lease = { name: jobOf(name), holder, dueAfterMs: 0, leaseMs: LEASE_MS };
    await withLease(database.query, lease, async (run) => {
      while (!isOver()) {
        const reading = { name: 'read_due_changes', text: READ_DUE, values: [name] };
        const due = await database.query<PlanChange>(reading);
        if (due.length === 0 && !(await this.#takeNext(run, name))) return;
        for (const change of due) if (!isOver()) await this.#pass(run, consumer, change);
      }
    });
  }

  /** Takes the next changes, up to the last one before which all are committed. Returns whether there are any. */
  async #takeNext(run: LeasedRun, name: string): Promise<boolean> {
    const { query } = this.#options.database;
    const known = await readConsumer(query, name);
    // An operator has removed it.
    if (known === null) return false;
    const settled = await readSettledId(query, known.position);
    if (settled === null || settled === known.position) return false;
    await this.#commit(run, { name: 'take_changes', text: TAKE_CHANGES, values: [name, settled] });
    return true;
  }

  async #pass(run: LeasedRun, { name, handler }: Consumer, change: PlanChange): Promise<void> {
    const values = [name, change.id];
    try {
      await withDeadline((async () => handler(change))(), HANDLER_DEADLINE_MS);
    } catch (err) {
      const { logger } = this.#options;
      const line = { consumer: name, changeId: change.id, teamId: change.teamId, err };
      logger.warn(line, 'change of a plan not handled');
      const message = err instanceof Error ? err.message : String(err);
      const error = message.replaceAll('\0', '').slice(0, MAX_ERROR_LENGTH).toWellFormed();
      const failing = { name: 'note_failure', text: NOTE_FAILURE, values: [...values, error] };
      const [failed] = await this.#commit<{ failures: number; isSetAside: boolean }>(run, failing);
      if (failed?.isSetAside) {
        logger.error({ ...line, failures: failed.failures }, 'change of a plan set aside');
      }
      return;
    }
    await this.#commit(run, { name: 'note_handled', text: NOTE_HANDLED, values });
  }

  /** What became of a change is stored only while this process has the lease. */
  async #commit<Row extends object>(run: LeasedRun, statement: NamedStatement): Promise<Row[]> {
    return await this.#options.database.transaction(async (query) => {
      await run.saveProgress({}, query);
      return await query<Row>(statement);
    });
  }
}
