import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'vitest';
import { bodyOf, contentOf, productIdOf } from '../../../bench/load/subscription-event.ts';
import type { Database } from '../../support/internals/database.ts';
import { writeProductName } from '../../support/internals/rows.ts';
import { WEBHOOK_SECRET } from '../../support/secrets/test-secrets.ts';

const SENDER = new URL('rate-sender.js', import.meta.url).pathname;
/** Not a multiple of the number of statuses, so that each event changes its team. */
const TEAMS = 4_999;
const FIRST_SECOND = 1_700_000_000;
/** The members that all events share, as large as Stripe's. */
const SAMPLE = JSON.parse(bodyOf(contentOf(0, 1)));

/** What the sender reports at its end. */
type SenderReport = {
  /** The ids of the events that got a 200. */
  readonly accepted: readonly string[];
  readonly acceptedMs: readonly number[];
  readonly refusedMs: readonly number[];
  /** The headers of answers that are neither 200 nor 503 with Retry-After. */
  readonly odd: readonly string[];
  /** Connections that were closed too early. */
  readonly broken: number;
  readonly sent: number;
  /** Events that were due while every connection had a pending answer. */
  readonly unsent: number;
  /** Events without an answer within the timeout. */
  readonly unanswered: number;
};

/** `acknowledged` is the number of events that got a 200. All are in the log, and every team is correct. */
export type EventFlood = Omit<SenderReport, 'accepted'> & { readonly acknowledged: number };

type EventFloodOptions = {
  readonly url: string;
  /** The maximum number of connections. */
  readonly connections: number;
  readonly durationMs: number;
  readonly ratePerSecond: number;
};

/**
 * Floods a server with events at a fixed rate from a separate process, regardless of the answers, and audits what was
 * acknowledged. Each connection waits for its answer.
 */
export async function floodWithEvents(
  database: Database,
  options: EventFloodOptions,
): Promise<EventFlood> {
  const name = `flood_${Date.now()}`;
  await addTeams(database, name);
  await writeProductName(database.query, productIdOf(0), 'Starter');
  const events = { name, teams: TEAMS, firstSecond: FIRST_SECOND, sample: SAMPLE };
  const settings = { ...options, ...events, secret: WEBHOOK_SECRET };
  const child = fork(SENDER, [JSON.stringify(settings)], { serialization: 'advanced' });
  const [report]: SenderReport[] = await Promise.race([once(child, 'message'), failureOf(child)]);
  if (report === undefined) throw new RangeError('the sender reported nothing');
  const { accepted, ...seen } = report;
  await audit(database, name, accepted);
  return { acknowledged: accepted.length, ...seen };
}

async function failureOf(child: ChildProcess): Promise<never> {
  const [code] = await once(child, 'exit');
  throw new Error(`the sender ended with ${code}`);
}

/** Creates teams without events, whose customers the senders number. */
async function addTeams(database: Database, name: string): Promise<void> {
  await database.query(
    `insert into teams (name, provider_customer_id)
     select 'A team', $1 || number
       from generate_series(0, $2 - 1) as number`,
    [`cus_${name}_`, TEAMS],
  );
}

/**
 * Every acknowledged event is in the log, and every team follows the newest event there. That event
 * can have been refused: an event that took too long gets a 503 and is still stored, also during this audit.
 */
async function audit(database: Database, name: string, accepted: readonly string[]): Promise<void> {
  const logged = await database.query<{ event_id: string }>(
    'select event_id from instep.events where event_id like $1',
    [`evt_${name}_%`],
  );
  const stored = new Set(logged.map(({ event_id }) => event_id));
  expect(accepted.filter((eventId) => !stored.has(eventId))).toEqual([]);
  // One statement sees the log and the teams at the same moment.
  const wrong = await database.query(
    `select customer_id, status, subscription_status
       from (select distinct on (customer_id)
                    customer_id,
                    convert_from(body, 'UTF8')::json #>> '{data,object,status}' as status
               from instep.events
              where event_id like $1
              order by customer_id, created_at desc) as newest
       left join teams on provider_customer_id = customer_id
      where subscription_status is distinct from status`,
    [`evt_${name}_%`],
  );
  expect(wrong).toEqual([]);
}
