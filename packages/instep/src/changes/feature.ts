// Calls the handlers of an app with each change of a plan, at least once, and in order for each team: `onPlanChange`.

import type { EngineServices, Feature } from 'instep-engine';
import {
  type ApplicationId,
  type ApplicationTables,
  type NamedStatement,
  onlyRow,
  PLAN_CHANGE_COLUMNS,
  type PlanChange,
} from 'instep-engine/postgres';
import {
  type Job,
  type LeasedRun,
  type MaintenanceMode,
  startMaintenance,
  withLease,
} from 'instep-engine/repair';
import { errorText, withDeadline } from 'instep-engine/runtime';
import * as v from 'valibot';
import {
  addConsumer,
  checkConsumerName,
  type FeedStart,
  FROM_DUE_CHANGES,
  jobOf,
  readSettledId,
} from './consumers.ts';
import { CHANGES_SCHEMA } from './schema.ts';

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

type Services = Pick<EngineServices, 'database' | 'logger' | 'nonce'>;

const POLL_INTERVAL_MS = 1_000;

/** Passes on the changes of plans (docs/changes.md). On demand, consumers run only as jobs. */
export function changesFeature(mode: MaintenanceMode) {
  const isOnDemand = mode === 'on-demand';
  const feeds = new Map<string, Feed & { readonly job: Job }>();
  let services: Services | undefined;
  return {
    ...CHANGES_SCHEMA,
    async start(opened: Services) {
      services = opened;
    },
    jobsOnDemand: () => (isOnDemand ? [...feeds.values()].map(({ job }) => job) : []),
    async stop() {
      await Promise.all([...feeds.values()].map((feed) => feed.stop()));
    },
    /**
     * Starts a consumer, in place of one with the same name in this process.
     *
     * @throws ConsumerRefused: `CONSUMER_NAME_INVALID`
     */
    onPlanChange(name: string, handler: PlanChangeHandler, options: FeedOptions = {}): Feed {
      checkConsumerName(name);
      if (services === undefined) throw new RangeError('the engine is not open');
      const { logger, nonce } = services;
      const from = options.from ?? 'now';
      const consumer = { ...services, holder: nonce(), name, handler, from };
      const predecessor = feeds.get(name)?.stop();
      let isStopped = false;
      let passing = Promise.resolve();
      const job: Job = {
        name: jobOf(name),
        intervalMs: isOnDemand ? 0 : POLL_INTERVAL_MS,
        async run(signal) {
          await predecessor;
          passing = passAll(consumer, () => isStopped || signal.aborted);
          await passing;
        },
      };
      const worker = isOnDemand ? null : startMaintenance(async () => [job], { logger });
      const feed = {
        job,
        async stop() {
          isStopped = true;
          if (feeds.get(name) === feed) feeds.delete(name);
          await Promise.allSettled([predecessor, worker?.stop(), passing]);
        },
      };
      feeds.set(name, feed);
      return feed;
    },
  } satisfies Feature & { onPlanChange: unknown };
}

type Consumer = Services & {
  /** This process. */
  readonly holder: string;
  readonly name: string;
  readonly handler: PlanChangeHandler;
  readonly from: FeedStart;
};

/** Another process takes over after this time and a poll. */
const LEASE_MS = 8_000;

const progressShape = v.object({ position: v.number() });

const READ_DUE = (tables: ApplicationTables) => `
      select ${PLAN_CHANGE_COLUMNS(tables)}
        from instep.plan_changes as change
       where id in (select change_id ${FROM_DUE_CHANGES})
       order by id
       limit 100`;

/** Passes on the changes that are due, and takes the next ones, until there is nothing left to do. */
async function passAll(consumer: Consumer, isOver: () => boolean): Promise<void> {
  const { name, from, database, holder } = consumer;
  const { query } = database;
  if (isOver() || !(await addConsumer(query, name, from)).hasWork) return;
  const lease = { name: jobOf(name), holder, dueAfterMs: 0, leaseMs: LEASE_MS };
  await withLease(query, lease, async (run) => {
    let { position } = v.parse(progressShape, run.progress);
    while (!isOver()) {
      const reading = { name: 'read_due_changes', text: READ_DUE, values: [jobOf(name)] };
      const due = await query<PlanChange>(reading);
      if (due.length === 0) {
        const taken = await takeNext(consumer, run, position);
        if (taken === position) return;
        position = taken;
      }
      const failedTeams = new Set<ApplicationId>();
      for (const change of due) {
        if (isOver()) return;
        if (failedTeams.has(change.teamId)) continue;
        if (!(await pass(consumer, run, position, change))) failedTeams.add(change.teamId);
      }
    }
  });
}

const TAKE_CHANGES = `
      with taken as (
        insert into instep.waiting_plan_changes (change_id, job, team_id, retry_at)
        select id, $1, team_id, now()
          from instep.plan_changes
         where id > $2
           and id <= $3
         order by id
         limit 100
        returning change_id
      )
      select coalesce(max(change_id), $3) as position
        from taken`;

/**
 * Takes the next changes, up to the last one before which all are committed, and returns the new position. They wait in a
 * table of their own until they are handled, so that a change that fails holds up its team alone.
 */
async function takeNext(
  { name, database }: Consumer,
  run: LeasedRun,
  position: number,
): Promise<number> {
  const settled = await readSettledId(database.query, position);
  if (settled === null || settled === position) return position;
  return await database.transaction(async (query) => {
    const values = [jobOf(name), position, settled];
    const taking = { name: 'take_changes', text: TAKE_CHANGES, values };
    const taken = await onlyRow<{ position: number }>(query, taking);
    await run.saveProgress(taken, query);
    return taken.position;
  });
}

/** A handler that takes longer has failed, and is called again. */
const HANDLER_DEADLINE_MS = 10_000;

const MAX_ERROR_LENGTH = 500;

const DELETE_HANDLED = 'delete from instep.waiting_plan_changes where job = $1 and change_id = $2';

/** About two hours after the first failure, the change is set aside. */
const STORE_FAILURE = `
      update instep.waiting_plan_changes
         set failures     = failures + 1,
             error        = $3,
             retry_at     = now() + least(2 ^ failures, 600) * interval '1 second',
             set_aside_at = case when failures + 1 >= 20 then now() end
       where job = $1
         and change_id = $2
      returning failures, set_aside_at is not null as "isSetAside"`;

/** Returns whether the handler has handled it. */
async function pass(
  { name, handler, database, logger }: Consumer,
  run: LeasedRun,
  position: number,
  change: PlanChange,
): Promise<boolean> {
  // What became of a change is stored only while this process has the lease.
  const commit = <Row extends object>(statement: NamedStatement) =>
    database.transaction(async (query) => {
      await run.saveProgress({ position }, query);
      return await query<Row>(statement);
    });
  const values = [jobOf(name), change.id];
  try {
    await withDeadline((async () => handler(change))(), HANDLER_DEADLINE_MS);
  } catch (err) {
    const line = { consumer: name, changeId: change.id, teamId: change.teamId, err };
    const error = errorText(err).replaceAll('\0', '').slice(0, MAX_ERROR_LENGTH).toWellFormed();
    const storing = { name: 'store_failure', text: STORE_FAILURE, values: [...values, error] };
    const [failed] = await commit<{ failures: number; isSetAside: boolean }>(storing);
    logger.warn(line, 'change of a plan not handled');
    if (failed?.isSetAside) {
      logger.error({ ...line, failures: failed.failures }, 'change of a plan set aside');
    }
    return false;
  }
  await commit({ name: 'delete_handled', text: DELETE_HANDLED, values });
  return true;
}
