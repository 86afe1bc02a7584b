// Links those to their teams who waited for one when LINK_BY_METADATA was set.

import { type EventRow, parseLogged, readEvents, type Settle } from 'instep-engine/log';
import { type ApplicationTables, type Database, isAfter, type Query } from 'instep-engine/postgres';
import { type Job, type LeasedRun, withLease } from 'instep-engine/repair';
import { originOfBody } from 'instep-engine/stripe';
import { type LinkOptions, linkNamedTeam } from './link-by-metadata.ts';

type JobOptions = Omit<LinkOptions, 'deadlineMs'> & {
  readonly database: Database;
  readonly settle: Settle;
};

/** A team that is locked for longer fails the job, which runs again. */
const DEADLINE_MS = 5_000;

/** A job that links those who wait, once for each value of the variable. */
export function createLinkJob(options: JobOptions, holder: string): Job {
  const name = 'link-by-metadata';
  const lease = { name, holder, dueAfterMs: 60_000 };
  const { query } = options.database;
  return {
    name,
    intervalMs: 1_000,
    run: async (signal) => {
      await withLease(query, lease, (run) => linkWaiting(run, options, signal));
    },
  };
}

async function linkWaiting(
  run: LeasedRun,
  { settle, ...options }: JobOptions,
  signal: AbortSignal,
): Promise<void> {
  const { database, key } = options;
  if (isOf(run.progress, key)) return await run.complete({ key });
  let afterId: string | null = null;
  do {
    const customerIds: string[] = await readWaiting(database.query, afterId);
    for (const customerId of customerIds) {
      for (const event of await readNewestParked(database.query, customerId)) {
        const parsed = parseLogged(event);
        if (parsed === null) continue;
        const isLinked = await linkNamedTeam(
          { ...parsed, origin: originOfBody(event.body) },
          { ...options, deadlineMs: DEADLINE_MS },
        );
        if (isLinked) {
          await settle(customerId);
          break;
        }
      }
    }
    afterId = customerIds.at(-1) ?? null;
  } while (afterId !== null && !signal.aborted);
  if (!signal.aborted) await run.complete({ key });
}

const isOf = (progress: unknown, key: string) =>
  typeof progress === 'object' && progress !== null && 'key' in progress && progress.key === key;

const PAGE = 100;

const READ_WAITING = ({ teams }: ApplicationTables) => `
      select customer_id as "customerId"
        from instep.customers
       where waiting = 'plan'
         and ${isAfter('text', '$1::text', 'customer_id')}
         and not exists (
               select
                 from ${teams.rows} as teams
                where provider_customer_id = customers.customer_id
             )
       order by customer_id
       limit ${PAGE}`;

/** The next customers that have a plan and no team. */
async function readWaiting(query: Query, afterId: string | null): Promise<string[]> {
  const rows = await query<{ customerId: string }>({
    name: 'read_waiting',
    text: READ_WAITING,
    values: [afterId],
  });
  return rows.map(({ customerId }) => customerId);
}

/** Events of a customer that can name a team, besides those that end a subscription. */
const MAX_EVENTS = 20;

async function readNewestParked(query: Query, customerId: string): Promise<EventRow[]> {
  const range = { after: 0, upTo: Number.MAX_SAFE_INTEGER };
  const page = { order: 'newest first', limit: MAX_EVENTS } as const;
  return await readEvents(query, { customerId, outcome: 'parked' }, range, page);
}
