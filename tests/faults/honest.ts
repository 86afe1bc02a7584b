import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../src/postgres/database.ts';
import { addUser } from '../../src/queries/users.ts';
import { sessionCookie } from '../support/service/session-cookie.ts';
import { type Figures, startLoad } from './load.ts';
import { percentile } from './percentile.ts';

/** What became of a request of somebody who means well. */
export type Attempt = {
  readonly what: 'event' | 'profile';
  readonly beganAtMs: number;
  readonly tookMs: number;
  /** A status, or the network's error. 200 means that the answer was the right one, too. */
  readonly answer: number | string;
};

export type Honest = {
  readonly attempts: readonly Attempt[];
  /** Waits until so many more events were acknowledged. Throws where none are. */
  untilMore(count: number): Promise<unknown>;
  /** Sends until everything that was begun was answered, and begins nothing more. */
  finish(): Promise<void>;
  /** After `finish`: is everything stored, and every team right? */
  audit(): Promise<Figures>;
};

const SENDERS = 2;
const READERS = 4;
/** Between a reader's answer and its next request. */
const PAUSE_MS = 20;
/** The server's promise, REQUEST_DEADLINE_MS, and what a busy machine needs beside. */
const TIMEOUT_MS = 5_000 + 5_000;

/** Senders of signed events, and users who read their profiles, until they are told to finish. */
export async function startHonest(database: Database, url: string): Promise<Honest> {
  const attempts: Attempt[] = [];
  let isOver = false;

  async function read(): Promise<void> {
    const { id, cookie } = await addSignedIn(database);
    while (!isOver) {
      const beganAtMs = Date.now();
      const answer = await readProfile(url, cookie, id);
      attempts.push({ what: 'profile', beganAtMs, tookMs: Date.now() - beganAtMs, answer });
      await sleep(PAUSE_MS);
    }
  }

  const load = await startLoad(database, {
    url: () => url,
    senders: SENDERS,
    timeoutMs: TIMEOUT_MS,
    onAttempt: (attempt) => attempts.push({ what: 'event', ...attempt }),
  });
  const reading = Promise.all(Array.from({ length: READERS }, read));
  // Whoever waits for the end hears of it.
  reading.catch(() => undefined);
  return {
    attempts,
    untilMore: (count) => load.untilMore(count),
    async finish() {
      isOver = true;
      await Promise.all([load.finish(), reading]);
    },
    audit: () => load.audit(database),
  };
}

let users = 0;

/** A new user, and the cookie of a session of theirs. */
export async function addSignedIn(database: Database) {
  users += 1;
  const email = `honest${users}@example.com`;
  const user = { name: 'Ada', email, passwordHash: 'x', role: 'member' };
  const { id } = await addUser(database.query, user);
  return { id, cookie: await sessionCookie(id) };
}

/** On a connection of its own, as from somebody who comes for the first time. */
export async function readProfile(
  url: string,
  cookie: string,
  userId: number,
): Promise<number | string> {
  try {
    const options = { agent: false, headers: { cookie }, signal: AbortSignal.timeout(TIMEOUT_MS) };
    const asked = request(`${url}/api/user`, options).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    const body = await text(response);
    if (response.statusCode !== 200) return response.statusCode ?? 0;
    return JSON.parse(body)?.id === userId ? 200 : `${body.slice(0, 100)} instead of the profile`;
  } catch (error) {
    return error instanceof Error ? String(error.cause ?? error) : String(error);
  }
}

/** How many of these attempts were answered as they should, in per cent, rounded down. */
export function shareServed(attempts: readonly Attempt[]): number {
  const served = attempts.filter(({ answer }) => answer === 200).length;
  return Math.floor((100_000 * served) / attempts.length) / 1_000;
}

/** @throws with what else was answered, unless at least so many per cent were served */
export function expectServed(attempts: readonly Attempt[], percent: number): void {
  if (attempts.length === 0) throw new RangeError('nothing was attempted');
  const others = attempts.filter(({ answer }) => answer !== 200);
  if (shareServed(attempts) >= percent) return;
  const reasons = [...new Set(others.map(({ what, answer }) => `${what}: ${answer}`))];
  throw new Error(`${others.length} of ${attempts.length} not served: ${reasons.join(', ')}`);
}

/** So long did 99 of 100 attempts take at most. */
export function slowestMs(attempts: readonly Attempt[]): number {
  return percentile(
    attempts.map(({ tookMs }) => tookMs),
    99,
  );
}
