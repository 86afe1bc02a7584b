import { type ChildProcess, fork } from 'node:child_process';
import { expect } from 'vitest';
import type { Database } from '../../../src/database/database.ts';
import { addTeam, readTeam } from '../../../src/store/teams.ts';
import { WEBHOOK_SECRET } from '../../support/canaries.ts';

const SENDER = new URL('event-sender.js', import.meta.url).pathname;
const TEAMS = 500;
const FIRST_SECOND = 1_700_000_000;

export type EventFlood = {
  /** The events that were answered 200; all of them are in the log, and every team is right. */
  readonly acknowledged: number;
  readonly acceptedMs: readonly number[];
  readonly refusedMs: readonly number[];
  /** Profiles that came. */
  readonly profiles: number;
  /** Connections that ended before their time. */
  readonly broken: number;
  /** The heads of answers that are neither 200 nor 503 with Retry-After. */
  readonly odd: readonly string[];
};

type Told = Omit<EventFlood, 'acknowledged'> & {
  readonly accepted: readonly (readonly [
    eventId: string,
    customerId: string,
    number: number,
    status: string,
  ])[];
};

export type EventFloodOptions = {
  readonly url: string;
  readonly connections: number;
  /** It ends after so long, or so many requests. */
  readonly durationMs?: number;
  readonly requests?: number;
  /** How many profiles each connection asks for between two events. */
  readonly profilesPerEvent?: number;
  readonly cookie?: string;
  /** Called now and then with how many requests were sent. */
  readonly onSent?: ((count: number) => void) | undefined;
};

/** Floods a server from a process of its own, and audits what was acknowledged. */
export async function floodWithEvents(
  database: Database,
  { onSent, ...options }: EventFloodOptions,
): Promise<EventFlood> {
  const name = `flood_${Date.now()}`;
  const teams = new Map<string, number>();
  for (let index = 0; index < TEAMS; index += 1) {
    const customerId = `cus_${name}_${index}`;
    teams.set(customerId, await addTeam(database.query, { name: customerId, customerId }));
  }
  const customerIds = [...teams.keys()];
  const told = { ...options, name, customerIds, secret: WEBHOOK_SECRET, firstSecond: FIRST_SECOND };
  const child = fork(SENDER, [JSON.stringify(told)], { serialization: 'advanced' });
  const { accepted, ...seen } = await heard(child, onSent);

  const logged = await database.query<{ event_id: string }>(
    'select event_id from instep.events where event_id like $1',
    [`evt_${name}_%`],
  );
  const stored = new Set(logged.map(({ event_id }) => event_id));
  expect(accepted.filter(([eventId]) => !stored.has(eventId))).toEqual([]);
  const newest = new Map<string, { readonly number: number; readonly status: string }>();
  for (const [, customerId, number, status] of accepted) {
    if (number > (newest.get(customerId)?.number ?? 0)) newest.set(customerId, { number, status });
  }
  for (const [customerId, { status }] of newest) {
    const team = await readTeam(database.query, teams.get(customerId) ?? 0);
    expect(team?.plan.subscriptionStatus).toBe(status);
  }
  return { acknowledged: accepted.length, ...seen };
}

/** What the sender has to say in the end. */
function heard(child: ChildProcess, onSent: EventFloodOptions['onSent']): Promise<Told> {
  return new Promise((resolve, reject) => {
    child.on('message', (message: Told | { readonly sent: number }) => {
      if ('sent' in message) onSent?.(message.sent);
      else resolve(message);
    });
    child.once('exit', (code) => reject(new Error(`the sender ended with ${code}`)));
  });
}
