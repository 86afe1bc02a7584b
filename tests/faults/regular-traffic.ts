import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApplicationId } from 'instep';
import type { Database } from '../support/internals/database.ts';
import { addUser } from '../support/internals/rows.ts';
import { sessionCookie } from '../support/service/session-cookie.ts';
import { type Figures, startLoad } from './load.ts';
import { percentile } from './percentile.ts';

/** The result of one regular request. */
export type Attempt = {
  readonly what: 'event' | 'profile';
  readonly startedAtMs: number;
  readonly tookMs: number;
  /** A status or a network error. 200 also means that the body was correct. */
  readonly answer: number | string;
};

type RegularTraffic = {
  readonly attempts: readonly Attempt[];
  /** Waits for this many more acknowledged events. Throws if none arrives. */
  untilMore(count: number): Promise<unknown>;
  /** Starts nothing more, and repeats running requests until they are answered. */
  finish(): Promise<void>;
  /** After `finish`: checks that every event is stored and every team is correct. */
  audit(): Promise<Figures>;
};

const SENDERS = 2;
const READERS = 4;
/** The pause between a reader's answer and its next request. */
const PAUSE_MS = 20;
/** REQUEST_DEADLINE_MS, which the server promises, and some time for a busy machine. */
const TIMEOUT_MS = 5_000 + 5_000;

/** Starts senders of signed events, and users who read their profiles. */
export async function startRegularTraffic(
  database: Database,
  url: string,
  senders = SENDERS,
): Promise<RegularTraffic> {
  const attempts: Attempt[] = [];
  let isOver = false;

  async function read(): Promise<void> {
    const { id, cookie } = await addSignedIn(database);
    while (!isOver) {
      const startedAtMs = Date.now();
      const answer = await readProfile(url, cookie, id);
      attempts.push({ what: 'profile', startedAtMs, tookMs: Date.now() - startedAtMs, answer });
      await sleep(PAUSE_MS);
    }
  }

  const load = await startLoad(database, {
    url: () => url,
    senders,
    timeoutMs: TIMEOUT_MS,
    onAttempt: (attempt) => attempts.push({ what: 'event', ...attempt }),
  });
  const reading = Promise.all(Array.from({ length: READERS }, read));
  // The caller that awaits `done` gets the error.
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

/** A new user and the cookie of their session. */
export async function addSignedIn(database: Database) {
  users += 1;
  const email = `regular${users}@example.com`;
  const user = { name: 'Ada', email, passwordHash: 'x', role: 'member' };
  const { id } = await addUser(database.query, user);
  return { id, cookie: await sessionCookie(id) };
}

/** Uses a new connection, like a new user. */
export async function readProfile(
  url: string,
  cookie: string,
  userId: ApplicationId,
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

/** The percentage of attempts that were answered correctly, rounded down. */
export function shareServed(attempts: readonly Attempt[]): number {
  const served = attempts.filter(({ answer }) => answer === 200).length;
  return Math.floor((100_000 * served) / attempts.length) / 1_000;
}

/** @throws Error with the other answers, unless at least this percentage was served */
export function expectServed(attempts: readonly Attempt[], percent: number): void {
  if (attempts.length === 0) throw new RangeError('nothing was attempted');
  const others = attempts.filter(({ answer }) => answer !== 200);
  if (shareServed(attempts) >= percent) return;
  const reasons = [...new Set(others.map(({ what, answer }) => `${what}: ${answer}`))];
  throw new Error(`${others.length} of ${attempts.length} not served: ${reasons.join(', ')}`);
}

/** The 99th percentile of the duration of the attempts. */
export function slowestMs(attempts: readonly Attempt[]): number {
  return percentile(
    attempts.map(({ tookMs }) => tookMs),
    99,
  );
}
