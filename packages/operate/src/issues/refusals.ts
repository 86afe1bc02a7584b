// Counts the deliveries and the session cookies with a signature of another secret, in memory, and stores them once a
// minute. instep.ts counts; service-state.ts reads them.

import type { Feature } from 'instep-engine';
import { columnArrays, type Query } from 'instep-engine/postgres';
import { withDeadline } from 'instep-engine/runtime';
import { OPERATE_SCHEMA } from './schema.ts';

export type RefusalKind = 'deliveries' | 'sessions';

/** What was refused, because its signature is of another secret, and since when, in milliseconds since 1970. */
export type Refusals = { readonly refused: number; readonly sinceMs: number };

/**
 * What this process has refused, as far as it is not stored yet. Anyone can send requests, so counting one takes no
 * statement: a job stores the counts once a minute. Those of a minute in which the database is away are lost.
 */
export class RefusalCounts {
  #now: () => number;
  #refused = new Map<RefusalKind, Refusals>();
  #acceptedSessions = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  refuse(kind: RefusalKind): void {
    const { refused = 0, sinceMs = this.#now() } = this.#refused.get(kind) ?? {};
    this.#refused.set(kind, { refused: refused + 1, sinceMs });
  }

  /** Why a session was refused; `''` if it was not. One that has expired had the right signature. */
  sessionRead(reason: string): void {
    if (reason === '' || reason === 'expired') this.#acceptedSessions += 1;
    if (reason === 'signature') this.refuse('sessions');
  }

  /** Why a delivery was refused. */
  signatureRejected(problem: string): void {
    if (problem === 'wrong') this.refuse('deliveries');
  }

  async store(query: Query): Promise<void> {
    const accepted = this.#acceptedSessions;
    // Anyone can forge a cookie, but while the secret differs from the app's, all are refused.
    const rows = [...this.#refused]
      .filter(([kind, { refused }]) => kind === 'deliveries' || refused > accepted)
      .map(([kind, { refused, sinceMs }]) => ({ kind, refused, since: new Date(sinceMs) }));
    this.#refused.clear();
    this.#acceptedSessions = 0;
    const areSessionsAccepted = accepted > 0 && !rows.some(({ kind }) => kind === 'sessions');
    if (rows.length === 0 && !areSessionsAccepted) return;
    const values = [...columnArrays(rows, 'kind', 'refused', 'since'), areSessionsAccepted];
    await query({ name: 'store_refusals', text: STORE_REFUSALS, values });
  }
}

/**
 * Forgets what is over: the deliveries before the last one that was accepted, and the cookies as soon as some are
 * accepted, if none was refused for two minutes. Of several instances, one can have another secret than the app.
 */
const STORE_REFUSALS = `
  with over as (
    delete from instep.refusals
     where since < now() - interval '1 day'
        or kind = 'deliveries'
           and since < (
             select max(received_at)
               from (
                      select received_at, deliveries
                        from instep.events
                       order by position desc
                       limit 1000
                    ) as newest
              where deliveries > 0
           )
        or kind = 'sessions'
           and $4
           and not exists (
             select from instep.refusals where kind = 'sessions' and stored_at > now() - interval '2 minutes'
           )
  )
  insert into instep.refusals (kind, refused, since)
  select *
    from unnest($1::text[], $2::bigint[], $3::timestamptz[])`;

const INTERVAL_MS = 60_000;

/** A database that does not answer must not delay the end of the process. */
const LAST_DEADLINE_MS = 1_000;

/** Stores the counts every minute, in each process, because what it refuses is counted nowhere else, and at the end. */
export function refusalsFeature(counts: RefusalCounts): Feature {
  let storeLast = async () => undefined as unknown;
  return {
    ...OPERATE_SCHEMA,
    async start({ database: { query }, logger }) {
      storeLast = () =>
        withDeadline(counts.store(query), LAST_DEADLINE_MS).catch((err) =>
          logger.warn({ err }, 'the refusals of the last minute were not counted'),
        );
    },
    jobs: ({ database: { query } }) => [
      { name: 'refusals', intervalMs: INTERVAL_MS, run: () => counts.store(query) },
    ],
    async close() {
      await storeLast();
    },
  };
}
