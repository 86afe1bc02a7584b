// Reads the state from which the issues of the service follow, such as when something arrived last. operate/health.ts calls
// it for the overview, the doctor and the metrics.

import { type Database, onlyRow, type Query } from 'instep-engine/postgres';
import {
  NEW_CUSTOMERS_JOB,
  type Progress,
  readLeasedJob,
  readProgress,
} from 'instep-engine/repair';
import { type EventOrigin, type Mode, originOfBody, SNAPSHOT_TYPE } from 'instep-engine/stripe';
import { type RefusalKind, type Refusals, readRefusals } from './refusals.ts';
import { countTeams, type TeamCounts } from './team-counts.ts';

/** Times are in milliseconds since 1970. */
export type ServiceState = {
  readonly figures: Figures;
  /** The origins of the last events, the newest first. */
  readonly origins: readonly EventOrigin[];
  /** The mode of the API key; `null` when its prefix does not show it. */
  readonly keyMode: Mode | null;
  /** `null`: there are too many teams to count them. */
  readonly teams: TeamCounts | null;
  /** The last comparison of all teams with Stripe, finished or not; `null`: there was none. */
  readonly reconciled: Progress | null;
  readonly failedJobs: readonly FailedJob[];
  readonly refusals: ReadonlyMap<RefusalKind, Refusals>;
  readonly consumers: readonly ConsumerProgress[];
  /** The policy for access of an instance that differs from the stored one; `null`: none does. */
  readonly otherPolicy: string | null;
};

/** Times are those of the newest 1,000 events, in milliseconds since 1970. */
export type Figures = {
  /** The first products whose name was looked up without a result. */
  readonly namelessProducts: readonly string[];
  readonly lastReceivedMs: number | null;
  /** When Stripe last delivered an event. */
  readonly lastDeliveredMs: number | null;
  /**
   * The time since which Stripe has listed events but delivered none; `null` if the newest one was delivered.
   */
  readonly undeliveredSinceMs: number | null;
  /** Whether commits wait for a standby, and none is connected. */
  readonly isStandbyMissing: boolean;
  /** Whether a job compares new teams one by one, within seconds. */
  readonly isFollowing: boolean;
};

/** A job whose last run failed, and when it is tried again. Times are in milliseconds since 1970. */
export type FailedJob = {
  readonly job: string;
  /** The code of the error; `other` for an unexpected one. */
  readonly code: string;
  /** The first of the failures in a row. */
  readonly sinceMs: number;
  readonly attemptAtMs: number;
};

/** How far a consumer of changes of plans is. */
export type ConsumerProgress = {
  readonly name: string;
  /** When the oldest change was made that was not passed to it, in milliseconds since 1970; `null`: there is none. */
  readonly behindSinceMs: number | null;
  /** The changes that it failed to handle. */
  readonly setAside: number;
};

/** What the features of `instep` know: this package knows none of their tables. */
export type OtherFeatures = {
  readConsumers(query: Query): Promise<readonly ConsumerProgress[]>;
  /** The policy for access of an instance that differs from the stored one; `null`: none does. */
  readOtherPolicy(query: Query): Promise<string | null>;
};

/** Reads all of it at once. It is cheap enough for every scrape. */
export async function readServiceState(
  { query, transaction }: Pick<Database, 'query' | 'transaction'>,
  keyMode: Mode | null,
  features: OtherFeatures,
): Promise<ServiceState> {
  const [figures, origins, teams, reconcile, failedJobs, refusals, consumers, otherPolicy] =
    await Promise.all([
      readFigures(query),
      readLastOrigins(query),
      countTeams({ transaction }),
      readLeasedJob(query, 'reconcile'),
      readFailedJobs(query),
      readRefusals(query),
      features.readConsumers(query),
      features.readOtherPolicy(query),
    ]);
  const reconciled = readProgress(reconcile?.progress);
  const read = { figures, origins, teams, reconciled, failedJobs, refusals };
  return { keyMode, ...read, consumers, otherPolicy };
}

export const MAX_NAMELESS = 20;

const READ_FIGURES = `
      with newest as materialized (
        select position, received_at, deliveries
          from (
                 select *
                   from instep.events
                  order by position desc
                  limit 1000
               ) as event
         where type <> $1
      ), arrival as (
        select max(received_at)                               as last_received,
               max(received_at) filter (where deliveries > 0) as last_delivered,
               min(received_at) filter (
                 where position > (
                   select coalesce(max(position), 0) from newest where deliveries > 0
                 )
               )                                              as undelivered_since
          from newest
      )
      select (extract(epoch from last_received) * 1000)::bigint     as "lastReceivedMs",
             (extract(epoch from last_delivered) * 1000)::bigint    as "lastDeliveredMs",
             (extract(epoch from undelivered_since) * 1000)::bigint as "undeliveredSinceMs",
             array(
               select product_id
                 from instep.products
                where name is null
                  and looked_up_at is not null
                order by product_id
                limit ${MAX_NAMELESS}
             )                                                      as "namelessProducts",
             (
               select current_setting('synchronous_standby_names') <> ''
                        and current_setting('synchronous_commit') <> 'local'
                        and count(*) = 0
                 from pg_stat_replication
                -- A role without pg_read_all_stats sees the rows, but no states.
                where sync_state in ('sync', 'quorum')
                   or sync_state is null
             )                                                      as "isStandbyMissing",
             exists (
               select
                 from instep.leased_jobs
                where name = '${NEW_CUSTOMERS_JOB}'
                  and started_at > now() - interval '1 minute'
             )                                                      as "isFollowing"
        from arrival`;

/** Reads indexes of few rows, and the end of the log. */
async function readFigures(query: Query): Promise<Figures> {
  const values = [SNAPSHOT_TYPE];
  return await onlyRow<Figures>(query, { name: 'read_figures', text: READ_FIGURES, values });
}

/** The origins of the last 20 events that Stripe delivered, the newest first. */
async function readLastOrigins(query: Query): Promise<EventOrigin[]> {
  const rows = await query<{ body: Uint8Array }>({
    name: 'read_last_origins',
    text: `
      select body
        from (
               select position, body, deliveries
                 from instep.events
                order by position desc
                limit 1000
             ) as newest
       where deliveries > 0
       order by position desc
       limit 20`,
  });
  return rows.map(({ body }) => originOfBody(body));
}

/** The jobs that keep failing, or that pause after a failure. Left out are those that were due and have not been tried again. */
export async function readFailedJobs(query: Query): Promise<FailedJob[]> {
  return await query<FailedJob>({
    name: 'read_failed_jobs',
    text: `
      select name as job,
             failure_code as code,
             (extract(epoch from failing_since) * 1000)::bigint as "sinceMs",
             (extract(epoch from attempt_at) * 1000)::bigint as "attemptAtMs"
        from instep.leased_jobs
       where attempt_at > now() - interval '10 minutes'
         and (failing_since < now() - interval '1 minute'
              or attempt_at > failed_at + interval '1 minute')
       order by name`,
  });
}
