import type { ApplicationId } from '../core/application.ts';
import { firstKeySince } from '../core/event-key-layout.ts';
import { type ResponsesRow, readResponses } from '../maintenance/responses.ts';
import { readRuns } from '../maintenance/runs.ts';
import type { Query } from '../postgres/database.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { SNAPSHOT_TYPE } from '../stripe/parse-event.ts';
import type { OperateContext } from './context.ts';
import { type Interruption, interruptionsOf } from './statistics.ts';

/** Times are in milliseconds since 1970; `untilMs` is excluded. */
export type Period = { readonly sinceMs: number; readonly untilMs: number };

/** An event that arrived later than this after it was created is late. Deliveries take a few seconds. */
const LATE_MS = 60_000;

/** Of the events that were created in a period, those that arrived late. */
export type LateEvents = {
  readonly events: number;
  /** All events that were created in it. */
  readonly of: number;
  /** Whether only the first events of the period were examined. */
  readonly isMore: boolean;
  /** Of the late event that took longest; `null`: none was late. */
  readonly longestDelayMs: number | null;
};

/** More would take longer than a page may. */
const MAX_EXAMINED = 50_000;

/** The events of a period by Stripe's clock. Their keys begin with this time, so the index of the keys finds them. */
const CREATED = `
      select key, customer_id, created_at, received_at
        from instep.events
       where key >= $1::uuid
         and key < $2::uuid
         and type <> '${SNAPSHOT_TYPE}'
       order by key
       limit ${MAX_EXAMINED}`;

const IS_LATE = `received_at - created_at > interval '${LATE_MS} milliseconds'`;

const keysOf = ({ sinceMs, untilMs }: Period) => [firstKeySince(sinceMs), firstKeySince(untilMs)];

/** What happened in a period. */
export type Incident = {
  /** The responses to deliveries, by minute, status and reason. They are kept for 10 days. */
  readonly responses: readonly ResponsesRow[];
  /** Starts, deploys and outages, by time. They are known for at most 15 days. */
  readonly interruptions: readonly ExaminedInterruption[];
  /** Whether they are known for the whole period: it is over, and instances were recorded before it. */
  readonly isKnown: boolean;
  readonly late: LateEvents;
  /** The teams whose events arrived late, those that waited longest first. */
  readonly teams: readonly AffectedTeam[];
};

/** `late`: of the events that were created in an outage, if it is one of the last five. */
type ExaminedInterruption = Interruption & { readonly late: LateEvents | null };

const MAX_OUTAGES = 5;

/**
 * What happened in a period: the responses to Stripe, when instances were running, how many events arrived late, and
 * whose.
 *
 * @example
 * ```ts
 * const sinceMs = Date.parse('2026-11-25T14:00:00Z');
 * const period = { sinceMs, untilMs: sinceMs + 3_600_000 };
 * const { responses, late, teams } = await readIncident(context, period, { maxTeams: 100 });
 * console.log(responses.length, late.events, teams.length); // 0 0 0
 * ```
 */
export async function readIncident(
  context: OperateContext,
  period: Period,
  { maxTeams = MAX_EXAMINED }: { readonly maxTeams?: number } = {},
): Promise<Incident> {
  const { query } = context.database;
  const [responses, runs, late, teams] = await Promise.all([
    readResponses(query, { slotSeconds: 60, ...period }),
    readRuns(query),
    countLateEvents(query, period),
    query<AffectedTeam>({
      name: 'find_affected_teams',
      text: READ_AFFECTED,
      values: [...keysOf(period), maxTeams],
    }),
  ]);
  const { sinceMs, untilMs } = period;
  const found = interruptionsOf(runs, context.now()).filter(
    (one) => one.atMs < untilMs && one.untilMs >= sinceMs,
  );
  const outages = found.filter(({ kind }) => kind === 'outage').slice(-MAX_OUTAGES);
  const interruptions: ExaminedInterruption[] = [];
  for (const one of found) {
    const outage = { sinceMs: one.atMs, untilMs: one.untilMs };
    const isExamined = outages.includes(one);
    interruptions.push({ ...one, late: isExamined ? await countLateEvents(query, outage) : null });
  }
  const isKnown = runs.some((run) => run.startedAtMs <= sinceMs) && untilMs <= context.now();
  return { responses, interruptions, isKnown, late, teams };
}

async function countLateEvents(query: Query, period: Period): Promise<LateEvents> {
  const [row] = await query<LateEvents>({
    name: 'count_late_events',
    text: `
      select count(*) filter (where ${IS_LATE}) as events,
             count(*) as of,
             count(*) = ${MAX_EXAMINED} as "isMore",
             (extract(epoch from max(received_at - created_at) filter (where ${IS_LATE})) * 1000)::bigint
               as "longestDelayMs"
        from (${CREATED}) as created`,
    values: keysOf(period),
  });
  if (row === undefined) throw new RangeError('counts have one row');
  return row;
}

/** A team whose events arrived late. */
export type AffectedTeam = {
  readonly id: ApplicationId;
  readonly name: string | null;
  readonly customerId: string;
  readonly lateEvents: number;
  readonly longestDelayMs: number;
  /** When the last of them arrived. */
  readonly arrivedAtMs: number;
};

const READ_AFFECTED = ({ teams }: ApplicationTables) => `
      with late as (
        select customer_id,
               count(*) as "lateEvents",
               (extract(epoch from max(received_at - created_at)) * 1000)::bigint as "longestDelayMs",
               (extract(epoch from max(received_at)) * 1000)::bigint as "arrivedAtMs"
          from (${CREATED}) as created
         where ${IS_LATE}
         group by customer_id
      )
      select teams.id, teams.name, customer_id as "customerId", "lateEvents", "longestDelayMs", "arrivedAtMs"
        from late
        join ${teams.rows} as teams on teams.provider_customer_id = customer_id
       order by "longestDelayMs" desc, customer_id, teams.id
       limit $3`;
