// Reads what the issues of the service are found in, which is also the evidence of the verdict, such as when something arrived
// last. operate/health.ts calls it.

import { type ApplicationTables, type Database, onlyRow, type Query } from 'instep-engine/postgres';
import { NEW_CUSTOMERS_JOB, type Progress, readProgress } from 'instep-engine/repair';
import { type EventOrigin, type Mode, originOfBody, SNAPSHOT_TYPE } from 'instep-engine/stripe';
import { readInTime } from '../runtime/read-in-time.ts';
import type { Refusals } from './refusals.ts';

/** The state of the service. Times are in milliseconds since 1970; those of events are of the newest 1,000. */
export type ServiceState = {
  readonly lastReceivedMs: number | null;
  /** When Stripe last delivered an event. */
  readonly lastDeliveredMs: number | null;
  /** The time since which Stripe has listed events but delivered none; `null` if the newest one was delivered. */
  readonly undeliveredSinceMs: number | null;
  /** The origins of the last events that Stripe delivered, the newest first. */
  readonly origins: readonly EventOrigin[];
  /** The mode of the API key; `null` when its prefix does not show it. */
  readonly keyMode: Mode | null;
  /** `null`: there are too many teams to count them. */
  readonly teams: TeamCounts | null;
  /** The last comparison of all teams with Stripe, finished or not; `null`: there was none. */
  readonly reconciled: Progress | null;
  /** Whether such a comparison is running now, in whichever process. */
  readonly isReconciling: boolean;
  /** Whether a job compares new teams one by one, within seconds. */
  readonly isFollowing: boolean;
  /** The first products whose name was looked up without a result. */
  readonly namelessProducts: readonly string[];
  readonly failedJobs: readonly FailedJob[];
  /** What was refused in the last day, unless it is over. */
  readonly refusals: { readonly deliveries?: Refusals; readonly sessions?: Refusals };
  readonly consumers: readonly ConsumerProgress[];
  /** The policy for access of an instance that differs from the stored one; `null`: none does. */
  readonly otherPolicy: string | null;
};

/** The teams with a customer, and those of them about whom Stripe has not answered yet. */
export type TeamCounts = { readonly linked: number; readonly uncompared: number };

/** A job whose last run failed, and when it is tried again. */
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
  /** When the oldest change was made that it has not handled; `null`: there is none. */
  readonly behindSince: Date | null;
  /** The changes that it failed to handle. */
  readonly setAsideCount: number;
};

/** What the features of `instep` know: this package knows none of their tables. */
export type OtherFeatures = {
  readConsumers(query: Query): Promise<readonly ConsumerProgress[]>;
  readOtherPolicy(query: Query): Promise<string | null>;
};

/** Reads all of it at once. It is cheap enough for every scrape. */
export async function readServiceState(
  { query, transaction }: Pick<Database, 'query' | 'transaction'>,
  keyMode: Mode | null,
  features: OtherFeatures,
): Promise<ServiceState> {
  const [{ reconcile, delivered, ...own }, teams, consumers, otherPolicy] = await Promise.all([
    onlyRow<OwnState>(query, {
      name: 'read_service_state',
      text: READ_SERVICE_STATE,
      values: [SNAPSHOT_TYPE],
    }),
    countTeams({ transaction }),
    features.readConsumers(query),
    features.readOtherPolicy(query),
  ]);
  const origins = delivered.map((body) => originOfBody(Buffer.from(body, 'base64')));
  const reconciled = readProgress(reconcile);
  return { ...own, origins, keyMode, teams, reconciled, consumers, otherPolicy };
}

export const MAX_NAMELESS = 20;

/** What the engine's tables and ours say. */
type OwnState = Omit<
  ServiceState,
  'origins' | 'keyMode' | 'teams' | 'reconciled' | 'consumers' | 'otherPolicy'
> & {
  /** The progress of the comparison, as its job stores it. */
  readonly reconcile: unknown;
  /** The bodies of the last events that Stripe delivered, as base64. */
  readonly delivered: readonly string[];
};

/** It reads indexes of few rows, and the end of the log. Left out are failed jobs that were due and have not been tried again. */
const READ_SERVICE_STATE = `
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
      ), refused as (
        select kind,
               jsonb_build_object(
                 'refused', sum(refused),
                 'sinceMs', (extract(epoch from min(since)) * 1000)::bigint
               ) as refusals
          from instep.refusals
         where since > now() - interval '1 day'
         group by kind
      ), failed as (
        select jsonb_build_object(
                 'job', name,
                 'code', failure_code,
                 'sinceMs', (extract(epoch from failing_since) * 1000)::bigint,
                 'attemptAtMs', (extract(epoch from attempt_at) * 1000)::bigint
               ) as job
          from instep.leased_jobs
         where attempt_at > now() - interval '10 minutes'
           and (failing_since < now() - interval '1 minute'
                or attempt_at > failed_at + interval '1 minute')
         order by name
      )
      select (extract(epoch from last_received) * 1000)::bigint             as "lastReceivedMs",
             (extract(epoch from last_delivered) * 1000)::bigint            as "lastDeliveredMs",
             (extract(epoch from undelivered_since) * 1000)::bigint         as "undeliveredSinceMs",
             array(
               select encode(body, 'base64')
                 from (
                        select position, body, deliveries
                          from instep.events
                         order by position desc
                         limit 1000
                      ) as latest
                where deliveries > 0
                order by position desc
                limit 20
             )                                                              as delivered,
             array(
               select product_id
                 from instep.products
                where name is null
                  and looked_up_at is not null
                order by product_id
                limit ${MAX_NAMELESS}
             )                                                              as "namelessProducts",
             (select progress from instep.leased_jobs where name = 'reconcile') as reconcile,
             exists (
               select
                 from instep.leased_jobs
                where name = 'reconcile'
                  and holder is not null
                  and held_until >= now()
             )                                                              as "isReconciling",
             exists (
               select
                 from instep.leased_jobs
                where name = '${NEW_CUSTOMERS_JOB}'
                  and started_at > now() - interval '1 minute'
             )                                                              as "isFollowing",
             (select coalesce(jsonb_agg(job), '[]') from failed)            as "failedJobs",
             (select coalesce(jsonb_object_agg(kind, refusals), '{}') from refused) as refusals
        from arrival`;

const COUNT_TEAMS = ({ teams }: ApplicationTables) => `
      select count(*) as linked,
             count(*) filter (where asked_at is null) as uncompared
        from ${teams.rows} as teams
        left join instep.asked_customers as asked on asked.customer_id = provider_customer_id
       where provider_customer_id is not null`;

/** A scrape of the metrics waits for it, with everything else that it reads, for a second at most. */
const COUNT_TIMEOUT_MS = 500;

/** `null` if they are too many to be counted in time, or if a lock on their table takes as long. */
async function countTeams(database: Pick<Database, 'transaction'>): Promise<TeamCounts | null> {
  const statement = { name: 'count_teams', text: COUNT_TEAMS };
  const [counts] = (await readInTime<TeamCounts>(database, statement, COUNT_TIMEOUT_MS)) ?? [];
  return counts ?? null;
}
