// LINK_BY_METADATA: a job links a customer without a team to the team that the metadata of its subscription names, if that
// has no customer.

import { type EventRow, parseLogged, readEvents, type Settle } from 'instep-engine/log';
import {
  type ApplicationTables,
  canOthersSucceed,
  type Database,
  DatabaseBusy,
  linkAvailableTeam,
  onlyRow,
  type Query,
  writersHaveEnded,
} from 'instep-engine/postgres';
import { type Job, type LeasedRun, withLease } from 'instep-engine/repair';
import { effectOf } from 'instep-engine/rule';
import type { Logger } from 'instep-engine/runtime';
import { type Mode, mismatchOf, originOfBody, teamNamedIn } from 'instep-engine/stripe';
import * as v from 'valibot';

type LinkOptions = {
  readonly database: Database;
  readonly settle: Settle;
  readonly logger: Logger;
  /** The key of the metadata that names a team. */
  readonly key: string;
  /** The mode of the API key; `null`: unknown. */
  readonly keyMode: Mode | null;
};

const NAME = 'link-by-metadata';

const progressShape = v.object({ key: v.string(), position: v.number() });

/** Reads the log once for each value of the variable, and then what was added, so that those who waited are linked too. */
export function createLinkJob(options: LinkOptions, holder: string): Job {
  const { query } = options.database;
  const lease = { name: NAME, holder, dueAfterMs: 0 };
  let examinedTo = -1;
  return {
    name: NAME,
    intervalMs: 1_000,
    async run(signal) {
      const newest = await readNewestPosition(query);
      if (newest === examinedTo) return;
      await withLease(query, lease, async (run) => {
        // A position is taken before it is committed.
        if (!(await writersHaveEnded(query, 'instep.events', signal))) return;
        await linkSince(run, newest, options, signal);
        if (!signal.aborted) examinedTo = newest;
      });
    },
  };
}

/** Links the customers of the events up to this position that were not examined yet. */
async function linkSince(
  run: LeasedRun,
  upTo: number,
  options: LinkOptions,
  signal: AbortSignal,
): Promise<void> {
  const { database, key, settle } = options;
  const { output, success } = v.safeParse(progressShape, run.progress);
  const after = success && output.key === key ? output.position : 0;
  for (const customerId of await readWaiting(database.query, after, upTo)) {
    for (const event of await readNewestParked(database.query, customerId)) {
      if (signal.aborted) return;
      if (!(await linkNamedTeam(event, options))) continue;
      await settle(customerId);
      break;
    }
  }
  await run.saveProgress({ key, position: upTo });
}

/** A team that is locked for longer fails the job, which runs again. */
const DEADLINE_MS = 5_000;

/**
 * Links the customer of an event that grants a plan. Returns whether it did. The events of another account or mode name
 * nobody's team: others can write metadata there. Nor does the end of a subscription: it must not take a later one's team.
 *
 * @throws DatabaseBusy after the deadline
 */
async function linkNamedTeam(
  event: EventRow,
  { database, logger, key, keyMode }: LinkOptions,
): Promise<boolean> {
  const parsed = parseLogged(event);
  if (parsed === null || effectOf(parsed.subscription.status) !== 'grants') return false;
  const origin = originOfBody(event.body);
  if (origin !== undefined && mismatchOf(origin, keyMode) !== null) return false;
  const teamId = teamNamedIn(parsed.object, key);
  if (teamId === null) return false;
  const { customerId } = parsed.subscription;
  try {
    const result = await linkAvailableTeam(database, { teamId, customerId }, DEADLINE_MS);
    if (result === 'linked') logger.info({ teamId, customerId }, 'team linked by metadata');
    return result === 'linked';
  } catch (error) {
    // The application refuses the link. The customer waits for another team.
    if (canOthersSucceed(error) && !(error instanceof DatabaseBusy)) return false;
    throw error;
  }
}

const READ_WAITING = ({ teams }: ApplicationTables) => `
      select customer_id as "customerId"
        from instep.customers
       where waiting = 'plan'
         and (
               $1 = 0
               or customer_id in (
                    select customer_id
                      from instep.events
                     where position > $1
                       and position <= $2
                  )
             )
         and not exists (
               select
                 from ${teams.rows} as teams
                where provider_customer_id = customers.customer_id
             )
       order by customer_id`;

/** The customers that have a plan and no team, and an event in this range of the log. */
async function readWaiting(query: Query, after: number, upTo: number): Promise<string[]> {
  const reading = { name: 'read_waiting', text: READ_WAITING, values: [after, upTo] };
  return (await query<{ customerId: string }>(reading)).map(({ customerId }) => customerId);
}

/** Events of a customer that can name a team, besides those that end a subscription. */
const MAX_EVENTS = 20;

async function readNewestParked(query: Query, customerId: string): Promise<EventRow[]> {
  const range = { after: 0, upTo: Number.MAX_SAFE_INTEGER };
  const page = { order: 'newest first', limit: MAX_EVENTS } as const;
  return await readEvents(query, { customerId, outcome: 'parked' }, range, page);
}

async function readNewestPosition(query: Query): Promise<number> {
  const text = 'select coalesce(max(position), 0) as position from instep.events';
  const { position } = await onlyRow<{ position: number }>(query, { name: 'read_newest', text });
  return position;
}
