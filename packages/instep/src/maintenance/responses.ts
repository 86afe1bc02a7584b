// Counts the responses to deliveries, and the session cookies, in memory, and stores them once a minute. instep.ts
// counts; operate/ reads them for issues.

import type { RefusalCode, Refusals } from '../health/issues.ts';
import type { Query } from '../postgres/database.ts';
import { columnArrays } from '../postgres/statement.ts';
import type { Job } from './worker.ts';

/** Responses to deliveries with one status, for one reason; or session cookies, whose status is `null`. */
type Counted = { status: number | null; code: string; count: number };

const MINUTE_MS = 60_000;

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

/** Fewer can be somebody's attempts, if other deliveries are accepted. */
const LEAST_REFUSED = 5;

/**
 * The deliveries and the session cookies of the last day whose signature is of another secret, if they go on.
 *
 * Deliveries: one was refused within the last hour, and those after it were not accepted for ten minutes. Session
 * cookies: more were refused than accepted, because single ones are forged, or left over from another app on this host.
 */
export async function readRefusals(query: Query): Promise<ReadonlyMap<RefusalCode, Refusals>> {
  const rows = await query<Refusals & { readonly code: RefusalCode }>({
    name: 'read_refusals',
    text: `
      with counted as (
        select 'deliveries-refused' as code,
               starts_at,
               count,
               code = 'signature-wrong' as is_refused,
               status = 200 as is_accepted
          from instep.responses
         union all
        select 'sessions-refused',
               starts_at,
               count,
               code = 'signature',
               code in ('', 'expired')
          from instep.session_cookies
      ), summed as (
        select code,
               coalesce(sum(count) filter (where is_refused), 0)::bigint as refused,
               coalesce(sum(count) filter (where is_accepted), 0)::bigint as accepted,
               min(starts_at) filter (where is_refused) as since,
               max(starts_at) filter (where is_refused) as last_refused,
               coalesce(max(starts_at) filter (where is_accepted), '-infinity') as last_accepted
          from counted
         where starts_at > now() - interval '1 day'
         group by code
      )
      select code,
             refused,
             accepted,
             (extract(epoch from since) * 1000)::bigint as "sinceMs"
        from summed
       where case code
               when 'deliveries-refused' then
                 last_refused > now() - interval '1 hour'
                 and last_refused > last_accepted - interval '10 minutes'
                 and (accepted = 0 or refused >= ${LEAST_REFUSED})
               when 'sessions-refused' then
                 refused > accepted and last_refused >= last_accepted
             end`,
  });
  return new Map(rows.map(({ code, ...refusals }) => [code, refusals]));
}
