import type { Refusals } from '../health/issues.ts';
import type { Query } from '../postgres/database.ts';
import { columnArrays } from '../postgres/statement.ts';
import type { SlotSeconds } from './statistics.ts';
import type { Job } from './worker.ts';

/** Responses to deliveries with one status, for one reason; or session cookies, whose status is `null`. */
type Counted = { status: number | null; code: string; count: number };

const MINUTE_MS = 60_000;

/** Covers the longest chart. */
const KEPT = `interval '10 days'`;

/**
 * The responses to deliveries that this process has given and the session cookies that it has read, as far as they
 * are not stored yet. Anyone can send requests, so counting one takes no statement: a job stores the counts once a
 * minute, and keeps them while the database is away.
 */
export class ResponseCounts {
  #now: () => number;
  #minutes = new Map<number, Map<string, Counted>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Counts a response, or with `null` in place of a status, a session cookie.
   *
   * @param code why it was refused; empty for an accepted delivery, and for a session
   */
  add(status: number | null, code: string): void {
    const minuteMs = Math.floor(this.#now() / MINUTE_MS) * MINUTE_MS;
    this.#addTo(minuteMs, { status, code, count: 1 });
  }

  /** Stores the counts. They stay in memory if that fails. */
  async store(query: Query): Promise<void> {
    const stored = this.#minutes;
    this.#minutes = new Map();
    const rows = [...stored].flatMap(([minuteMs, counts]) =>
      [...counts.values()].map((counted) => ({ startsAt: new Date(minuteMs), ...counted })),
    );
    if (rows.length === 0) return;
    try {
      await query({
        name: 'store_responses',
        text: `
          with forgotten as (
            delete from instep.responses where starts_at < now() - ${KEPT}
          ), forgotten_cookies as (
            delete from instep.session_cookies where starts_at < now() - ${KEPT}
          ), counted as (
            select *
              from unnest($1::timestamptz[], $2::smallint[], $3::text[], $4::bigint[])
                as counted (starts_at, status, code, count)
          ), cookies as (
            insert into instep.session_cookies as known (starts_at, code, count)
            select starts_at, code, count
              from counted
             where status is null
                on conflict (starts_at, code) do update
               set count = known.count + excluded.count
          )
          insert into instep.responses as known (starts_at, status, code, count)
          select *
            from counted
           where status is not null
              on conflict (starts_at, status, code) do update
             set count = known.count + excluded.count`,
        values: columnArrays(rows, 'startsAt', 'status', 'code', 'count'),
      });
    } catch (error) {
      for (const [minuteMs, counts] of stored) {
        for (const counted of counts.values()) this.#addTo(minuteMs, counted);
      }
      throw error;
    }
  }

  #addTo(minuteMs: number, { status, code, count }: Counted): void {
    const counts = this.#minutes.get(minuteMs) ?? new Map<string, Counted>();
    this.#minutes.set(minuteMs, counts);
    const key = `${status} ${code}`;
    const known = counts.get(key);
    if (known === undefined) counts.set(key, { status, code, count });
    else known.count += count;
  }
}

export function createResponsesJob(query: Query, counts: ResponseCounts): Job {
  return { name: 'responses', intervalMs: MINUTE_MS, run: () => counts.store(query) };
}

/** The number of responses in a time slot with this status, for this reason. */
export type ResponsesRow = {
  readonly startsAtMs: number;
  readonly status: number;
  /** Empty for an accepted delivery. */
  readonly code: string;
  readonly count: number;
};

type ResponsesRequest = {
  readonly slotSeconds: SlotSeconds;
  readonly sinceMs: number;
  readonly untilMs?: number;
};

/** The responses to deliveries in a period, by slot. */
export async function readResponses(
  query: Query,
  { slotSeconds, sinceMs, untilMs }: ResponsesRequest,
): Promise<ResponsesRow[]> {
  return await query<ResponsesRow>({
    name: 'read_responses',
    text: `
      select (date_part('epoch', date_bin($1 * interval '1 second', starts_at, 'epoch'))
               * 1000)::bigint as "startsAtMs",
             status,
             code,
             sum(count)::bigint as count
        from instep.responses
       where starts_at >= $2
         and starts_at < coalesce($3, 'infinity'::timestamptz)
       group by 1, status, code
       order by 1`,
    values: [slotSeconds, new Date(sinceMs), untilMs === undefined ? null : new Date(untilMs)],
  });
}

/** Fewer can be somebody's attempts, if other deliveries are accepted. */
const LEAST_REFUSED = 5;

type Refused = {
  readonly table: 'responses' | 'session_cookies';
  readonly refused: string;
  readonly accepted: string;
  readonly isOn: string;
};

const READ_REFUSED = ({ table, refused, accepted, isOn }: Refused) => `
      select refused,
             accepted,
             (extract(epoch from since) * 1000)::bigint as "sinceMs"
        from (
               select coalesce(sum(count) filter (where ${refused}), 0)::bigint  as refused,
                      min(starts_at) filter (where ${refused})                   as since,
                      max(starts_at) filter (where ${refused})                   as last_refused,
                      coalesce(sum(count) filter (where ${accepted}), 0)::bigint as accepted,
                      coalesce(max(starts_at) filter (where ${accepted}), '-infinity') as last_accepted
                 from instep.${table}
                where starts_at > now() - interval '1 day'
             ) as counted
       where ${isOn}`;

/**
 * The deliveries of the last day whose signature is of another secret; `null` unless they go on: one was refused
 * within the last hour, and the deliveries after it were not accepted for ten minutes.
 */
export async function readRefusals(query: Query): Promise<Refusals | null> {
  const [refusals = null] = await query<Refusals>({
    name: 'read_refusals',
    text: READ_REFUSED({
      table: 'responses',
      refused: "code = 'signature-wrong'",
      accepted: 'status = 200',
      isOn: `last_refused > now() - interval '1 hour'
         and last_refused > last_accepted - interval '10 minutes'
         and (accepted = 0 or refused >= ${LEAST_REFUSED})`,
    }),
  });
  return refusals;
}

/**
 * The session cookies of the last day whose signature is of another secret; `null` unless they are more than the
 * others and go on. Single ones are forged, or are left over from another app on this host.
 */
export async function readRefusedSessions(query: Query): Promise<Refusals | null> {
  const [refusals = null] = await query<Refusals>({
    name: 'read_refused_sessions',
    text: READ_REFUSED({
      table: 'session_cookies',
      refused: "code = 'signature'",
      accepted: "code in ('', 'expired')",
      isOn: 'refused > accepted and last_refused >= last_accepted',
    }),
  });
  return refusals;
}
