// Counts the deliveries and the session cookies with a signature of another secret, in memory, and stores them once a
// minute. instep.ts counts; operate/health.ts reads them.

import type { Feature } from 'instep-engine';
import { columnArrays, type Query } from 'instep-engine/postgres';
import { withDeadline } from 'instep-engine/runtime';
import type { RefusalKind, Refusals } from './issue.ts';
import { OPERATE_SCHEMA } from './schema.ts';

type Refused = { kind: RefusalKind; count: number; firstAt: Date; lastAt: Date };

/**
 * What this process has refused, as far as it is not stored yet. Anyone can send requests, so counting one takes no
 * statement: a job stores the counts once a minute, and keeps them while the database is away.
 */
export class RefusalCounts {
  #now: () => number;
  #refused = new Map<RefusalKind, Refused>();
  #acceptedSessions = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  refuse(kind: RefusalKind): void {
    const at = new Date(this.#now());
    this.#add({ kind, count: 1, firstAt: at, lastAt: at });
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

  /** Stores the counts. They stay in memory if that fails. */
  async store(query: Query): Promise<void> {
    const counts = [...this.#refused.values()];
    const accepted = this.#acceptedSessions;
    this.#refused = new Map();
    this.#acceptedSessions = 0;
    // Anyone can forge a cookie, but while the secret differs from the app's, all are refused.
    const refused = counts.filter(({ kind, count }) => kind === 'deliveries' || count > accepted);
    const areSessionsAccepted = accepted > 0 && !refused.some(({ kind }) => kind === 'sessions');
    if (refused.length === 0 && !areSessionsAccepted) return;
    try {
      await query({
        name: 'store_refusals',
        text: STORE_REFUSALS,
        values: [
          ...columnArrays(refused, 'kind', 'count', 'firstAt', 'lastAt'),
          areSessionsAccepted,
        ],
      });
    } catch (error) {
      for (const one of counts) this.#add(one);
      this.#acceptedSessions += accepted;
      throw error;
    }
  }

  #add(refused: Refused): void {
    const { kind, count, firstAt, lastAt } = refused;
    const known = this.#refused.get(kind);
    if (known === undefined) {
      this.#refused.set(kind, { ...refused });
      return;
    }
    known.count += count;
    if (firstAt < known.firstAt) known.firstAt = firstAt;
    if (lastAt > known.lastAt) known.lastAt = lastAt;
  }
}

/** Whether the refusals of this kind go on, so that counting does not begin again. */
const GOES_ON = `
  (known.last_at > now() - interval '1 day'
   and (known.kind <> 'deliveries' or known.last_at > (select last_at from delivered)))`;

/**
 * Cookies are accepted only when none was refused for two minutes: of several instances, one can have another secret
 * than the app.
 */
const STORE_REFUSALS = `
  with delivered as (
    select coalesce(max(received_at) filter (where deliveries > 0), '-infinity') as last_at
      from (
             select received_at, deliveries
               from instep.events
              order by position desc
              limit 1000
           ) as newest
  ), accepted as (
    delete from instep.refusals
     where $5
       and kind = 'sessions'
       and last_at < now() - interval '2 minutes'
  )
  insert into instep.refusals as known (kind, count, first_at, last_at)
  select *
    from unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::timestamptz[])
      on conflict (kind) do update
     set count    = excluded.count + case when ${GOES_ON} then known.count else 0 end,
         first_at = case when ${GOES_ON} then known.first_at else excluded.first_at end,
         last_at  = greatest(known.last_at, excluded.last_at)`;

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

/** What was refused in the last day, unless cookies have been accepted since. */
export async function readRefusals(query: Query): Promise<ReadonlyMap<RefusalKind, Refusals>> {
  const rows = await query<Refusals & { readonly kind: RefusalKind }>({
    name: 'read_refusals',
    text: `
      select kind,
             count as refused,
             (extract(epoch from first_at) * 1000)::bigint as "sinceMs"
        from instep.refusals
       where last_at > now() - interval '1 day'`,
  });
  return new Map(rows.map(({ kind, ...refusals }) => [kind, refusals]));
}
