// The shape of the jobs that find what is due, and repair each alone: settle-jobs.ts and ask-jobs.ts have them.

import * as v from 'valibot';
import type { Query } from '../postgres/database.ts';
import { canOthersSucceed } from '../postgres/errors.ts';
import type { DuePage, Examined } from '../postgres/examine.ts';
import type { NamedStatement } from '../postgres/statement.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import type { Logger } from '../runtime/logging.ts';
import { type LeasedRun, withLease } from './lease.ts';
import type { Job } from './worker.ts';

export type Repair = {
  readonly name: string;
  /** How many one run repairs. */
  readonly limit: number;
  /** The longest rest of one that stays due. */
  readonly longestRestMs: number;
  /** Finds the next customers, subscriptions or products that are due. */
  readonly find: (page: DuePage) => Promise<Examined<string, string | number>>;
  /** Returns whether it is not due any more. */
  readonly repair: (id: string, signal: AbortSignal) => Promise<boolean>;
};

export type RepairOptions = {
  readonly query: Query;
  readonly logger: Logger;
  /** The instance, for the lease. */
  readonly holder: string;
  /** How long after a search another one begins. */
  readonly dueAfterMs?: number;
  /** The first rest of one that stays due. Each next one is twice as long. */
  readonly firstRestMs?: number;
  /** A monotonic clock, in milliseconds. */
  readonly clockMs?: (() => number) | undefined;
};

/** Short, so that other instances go on soon after a process was killed. */
const LEASE_MS = 10_000;

/** How long a run searches. */
const SEARCH_MS = 100;

/** The last row that was examined. */
const progressShape = v.fallback(
  v.object({ after: v.nullable(v.union([v.number(), v.string()])) }),
  { after: null },
);

/**
 * Repairs what is due, again and again. What stays due rests for a while, so that it delays nothing else. The job fails, and
 * pauses, when Stripe or the database does.
 */
export function createRepairJob(
  { name, limit, longestRestMs, find, repair }: Repair,
  { query, logger, holder, ...options }: RepairOptions,
): Job {
  const { dueAfterMs = 3_000, firstRestMs = 5_000 } = options;
  const { clockMs = () => performance.now() } = options;
  const rests = new Map<string, { readonly untilMs: number; readonly pauseMs: number }>();

  function rest(id: string): void {
    const lastMs = rests.get(id)?.pauseMs;
    const pauseMs = lastMs === undefined ? firstRestMs : Math.min(lastMs * 2, longestRestMs);
    rests.set(id, { untilMs: clockMs() + pauseMs, pauseMs });
  }

  function resting(): string[] {
    const nowMs = clockMs();
    for (const [id, { untilMs }] of rests) {
      // One that is due again until then gets a longer rest.
      if (nowMs >= untilMs + longestRestMs) rests.delete(id);
    }
    return [...rests].flatMap(([id, { untilMs }]) => (nowMs < untilMs ? id : []));
  }

  /**
   * Searches page by page, from where the last search ended, and after the last row from the first one again. So neither a
   * statement nor a search takes longer the more teams there are.
   */
  async function search({ progress, saveProgress }: LeasedRun): Promise<string[]> {
    const endsAtMs = clockMs() + SEARCH_MS;
    const page = { limit, exceptIds: resting() };
    const { after } = v.parse(progressShape, progress);
    let afterId = after;
    const ids: string[] = [];
    do {
      const { found, examinedTo } = await find({ afterId, ...page });
      ids.push(...found);
      // It can have left out some of the last rows.
      if (ids.length >= limit) break;
      afterId = examinedTo;
    } while (afterId !== null && clockMs() < endsAtMs);
    if (afterId !== after) await saveProgress({ after: afterId });
    return ids;
  }

  async function attempt(id: string, signal: AbortSignal): Promise<void> {
    // Also if it fails or never ends.
    rest(id);
    try {
      if (await repair(id, signal)) rests.delete(id);
    } catch (err) {
      if (!canOthersSucceed(err)) throw err;
      logger.warn({ job: name, id, err }, 'not repaired');
    }
  }

  async function run(signal: AbortSignal): Promise<void> {
    await withLease(query, { name, holder, dueAfterMs, leaseMs: LEASE_MS }, async (run) => {
      for (const id of await search(run)) {
        if (signal.aborted) return;
        await attempt(id, signal);
      }
    });
  }
  return { name, intervalMs: dueAfterMs, run };
}

/** Finds by an index: the first ones again, until they are repaired or rest. `$1`: which ones to leave out. `$2`: how many. */
export const dueIn =
  (query: Query, { name, text, values = [] }: NamedStatement): Repair['find'] =>
  async ({ exceptIds, limit }) => {
    const rows = await query<{ id: string }>({ name, text, values: [exceptIds, limit, ...values] });
    return { found: rows.map(({ id }) => id), examinedTo: null };
  };

/** SQL for whether a team has the customer of a row. */
export const HAS_TEAM = ({ teams }: ApplicationTables, customerId: string) =>
  `exists (select from ${teams.rows} as teams where provider_customer_id = ${customerId})`;
