import { type ChildProcess, fork } from 'node:child_process';
import { expect } from 'vitest';
import { bodyOf, contentOf, productIdOf } from '../../../bench/load/subscription-event.ts';
import type { Database } from '../../support/internals/database.ts';
import { writeProductName } from '../../support/internals/rows.ts';
import { WEBHOOK_SECRET } from '../../support/secrets/test-secrets.ts';

const SENDER = new URL('event-sender.js', import.meta.url).pathname;
const RATE_SENDER = new URL('rate-sender.js', import.meta.url).pathname;
/** Not a multiple of the number of statuses, so that each event changes its team. */
const TEAMS = 4_999;
const FIRST_SECOND = 1_700_000_000;
/** The members that all events share, as large as Stripe's. */
const SAMPLE = JSON.parse(bodyOf(contentOf(0, 1)));

export type EventFlood = {
  /** Events that got a 200. All are in the log, and every team is correct. */
  readonly acknowledged: number;
  readonly acceptedMs: readonly number[];
  readonly refusedMs: readonly number[];
  /** Profiles that were answered. */
  readonly profiles: number;
  /** Connections that were closed too early. */
  readonly broken: number;
  /** The headers of answers that are neither 200 nor 503 with Retry-After. */
  readonly odd: readonly string[];
};

type SenderReport<Flood extends EventFlood> = Omit<Flood, 'acknowledged'> & {
  /** The ids of the events that got a 200. */
  readonly accepted: readonly string[];
};

type EventFloodOptions = {
  readonly url: string;
  readonly connections: number;
  /** The limit: a duration or a number of requests. */
  readonly durationMs?: number;
  readonly requests?: number;
  /** The number of profiles that each connection requests between two events. */
  readonly profilesPerEvent?: number;
  readonly cookie?: string;
  /** Called from time to time with the number of requests so far. */
  readonly onSent?: ((count: number) => void) | undefined;
};

/**
 * Floods a server with events from a separate process, which sends each one until it is answered
 * 200, and audits what was acknowledged.
 */
export function floodWithEvents(
  database: Database,
  { onSent, ...options }: EventFloodOptions,
): Promise<EventFlood> {
  return flood<EventFlood>(database, { program: SENDER, options, onSent });
}

/** A flood at a fixed rate, regardless of the answers. */
type RateFlood = EventFlood & {
  readonly sent: number;
  /** Events that were due while every connection had a pending answer. */
  readonly unsent: number;
  /** Events without an answer within the timeout. */
  readonly unanswered: number;
};

type RateFloodOptions = {
  readonly url: string;
  /** The maximum number of connections. */
  readonly connections: number;
  readonly durationMs: number;
  readonly ratePerSecond: number;
};

/** Floods a server at a fixed rate, regardless of the answers. */
export function floodAtRate(database: Database, options: RateFloodOptions): Promise<RateFlood> {
  return flood<RateFlood>(database, { program: RATE_SENDER, options });
}

type Sending = {
  readonly program: string;
  readonly options: { readonly url: string; readonly connections: number };
  readonly onSent?: EventFloodOptions['onSent'];
};

async function flood<Flood extends EventFlood>(
  database: Database,
  { program, options, onSent }: Sending,
): Promise<Omit<SenderReport<Flood>, 'accepted'> & { readonly acknowledged: number }> {
  const name = `flood_${Date.now()}`;
  await addTeams(database, name);
  await writeProductName(database.query, productIdOf(0), 'Starter');
  const events = { name, teams: TEAMS, firstSecond: FIRST_SECOND, sample: SAMPLE };
  const settings = { ...options, ...events, secret: WEBHOOK_SECRET };
  const child = fork(program, [JSON.stringify(settings)], { serialization: 'advanced' });
  const { accepted, ...seen } = await reportOf<Flood>(child, onSent);
  await audit(database, name, accepted);
  return { acknowledged: accepted.length, ...seen };
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

/** The sender's final report. */
function reportOf<Flood extends EventFlood>(
  child: ChildProcess,
  onSent: EventFloodOptions['onSent'],
): Promise<SenderReport<Flood>> {
  return new Promise((resolve, reject) => {
    child.on('message', (message: SenderReport<Flood> | { readonly progress: number }) => {
      if ('progress' in message) onSent?.(message.progress);
      else resolve(message);
    });
    child.once('exit', (code) => reject(new Error(`the sender ended with ${code}`)));
  });
}
