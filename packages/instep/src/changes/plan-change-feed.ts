// Calls the handlers of an app with each change of a plan, at least once, and in order for each team: `onPlanChange`.

import {
  type ApplicationId,
  type ApplicationTables,
  type Database,
  type NamedStatement,
  PLAN_CHANGE_COLUMNS,
  type PlanChange,
} from 'instep-engine/postgres';
import { type Job, type LeasedRun, startMaintenance, withLease } from 'instep-engine/repair';
import { errorText, type Logger, withDeadline } from 'instep-engine/runtime';
import {
  addConsumer,
  checkConsumerName,
  type FeedStart,
  FROM_DUE_CHANGES,
  jobOf,
  readConsumer,
  readSettledId,
} from './consumers.ts';

/** Is called with each change of a plan. If it throws or rejects, it is called again later. */
export type PlanChangeHandler = (change: PlanChange) => unknown;

export type FeedOptions = {
  /** `now` by default, when the database first knows of it. A consumer that is known already continues where it was. */
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
const HANDLER_DEADLINE_MS = 10_000;

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
      select ${PLAN_CHANGE_COLUMNS(tables)}
        from instep.plan_changes as change
       where id in (select change_id ${FROM_DUE_CHANGES})
       order by id
       limit 100`;

const DELETE_HANDLED =
  'delete from instep.waiting_plan_changes where consumer = $1 and change_id = $2';

/** About two hours after the first failure, the change is set aside. */
const STORE_FAILURE = `
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

  /**
   * Starts a consumer, in place of one with the same name in this process.
   *
   * @throws ConsumerRefused: `CONSUMER_NAME_INVALID`
   */
  start(name: string, handler: PlanChangeHandler, { from = 'now' }: FeedOptions = {}): Feed {
    checkConsumerName(name);
    const { isOnDemand, logger } = this.#options;
    const predecessor = this.#feeds.get(name)?.stop();
    let isStopped = false;
    let passing = Promise.resolve();
    const job: Job = {
      name: jobOf(name),
      intervalMs: isOnDemand ? 0 : POLL_INTERVAL_MS,
      run: async (signal) => {
        await predecessor;
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
        await Promise.allSettled([predecessor, worker?.stop(), passing]);
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
    const { query } = this.#options.database;
    if (isOver() || !(await addConsumer(query, name, from)).hasWork) return;
    const { holder } = this.#options;
    const lease = { name: jobOf(name), holder, dueAfterMs: 0, leaseMs: LEASE_MS };
    await withLease(query, lease, async (run) => {
      const reading = { name: 'read_due_changes', text: READ_DUE, values: [name] };
      while (!isOver()) {
        const due = await query<PlanChange>(reading);
        if (due.length === 0 && !(await this.#takeNext(run, name))) return;
        const failedTeams = new Set<ApplicationId>();
        for (const change of due) {
          if (isOver()) return;
          if (failedTeams.has(change.teamId)) continue;
          if (!(await this.#pass(run, consumer, change))) failedTeams.add(change.teamId);
        }
      }
    });
  }

  /** Takes the next changes, up to the last one before which all are committed. Returns whether there are any. */
  async #takeNext(run: LeasedRun, name: string): Promise<boolean> {
    const { query } = this.#options.database;
    const progress = await readConsumer(query, name);
    // An operator has removed it.
    if (progress === null) return false;
    const settled = await readSettledId(query, progress.position);
    if (settled === null || settled === progress.position) return false;
    await this.#commit(run, { name: 'take_changes', text: TAKE_CHANGES, values: [name, settled] });
    return true;
  }

  /** Returns whether the handler has handled it. */
  async #pass(run: LeasedRun, { name, handler }: Consumer, change: PlanChange): Promise<boolean> {
    const values = [name, change.id];
    const { logger } = this.#options;
    try {
      await withDeadline((async () => handler(change))(), HANDLER_DEADLINE_MS);
    } catch (err) {
      const line = { consumer: name, changeId: change.id, teamId: change.teamId, err };
      const error = errorText(err).replaceAll('\0', '').slice(0, MAX_ERROR_LENGTH).toWellFormed();
      const storing = { name: 'store_failure', text: STORE_FAILURE, values: [...values, error] };
      const [failed] = await this.#commit<{ failures: number; isSetAside: boolean }>(run, storing);
      logger.warn(line, 'change of a plan not handled');
      if (failed?.isSetAside) {
        logger.error({ ...line, failures: failed.failures }, 'change of a plan set aside');
      }
      return false;
    }
    await this.#commit(run, { name: 'delete_handled', text: DELETE_HANDLED, values });
    return true;
  }

  /** What became of a change is stored only while this process has the lease. */
  async #commit<Row extends object>(run: LeasedRun, statement: NamedStatement): Promise<Row[]> {
    return await this.#options.database.transaction(async (query) => {
      await run.saveProgress({}, query);
      return await query<Row>(statement);
    });
  }
}
