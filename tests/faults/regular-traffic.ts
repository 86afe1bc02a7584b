import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApplicationId } from 'instep';
import type { Database } from '../support/internals/database.ts';
import { addUser } from '../support/internals/rows.ts';
import { sessionCookie } from '../support/service/session-cookie.ts';
import { type Figures, startLoad } from './load.ts';

/** The result of one regular request. */
type Attempt = {
  readonly what: 'event' | 'profile';
  /** A status or a network error. 200 also means that the body was correct. */
  readonly answer: number | string;
};

type RegularTraffic = {
  readonly attempts: readonly Attempt[];
  /** Waits for this many more acknowledged events. Throws if none arrives. */
  untilMore(count: number): Promise<void>;
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
      attempts.push({ what: 'profile', answer: await readProfile(url, cookie, id) });
      await sleep(PAUSE_MS);
    }
  }

  const load = await startLoad(database, {
    url: () => url,
    senders,
    timeoutMs: TIMEOUT_MS,
    onAnswer: (answer) => attempts.push({ what: 'event', answer }),
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
async function addSignedIn(database: Database) {
  users += 1;
  const email = `regular${users}@example.com`;
  const user = { name: 'Ada', email, passwordHash: 'x', role: 'member' };
  const { id } = await addUser(database.query, user);
  return { id, cookie: await sessionCookie(id) };
}

/** Uses a new connection, like a new user. */
async function readProfile(
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

/** @throws Error with the other answers, unless all were served */
export function expectServed(attempts: readonly Attempt[]): void {
  if (attempts.length === 0) throw new RangeError('nothing was attempted');
  const others = attempts.filter(({ answer }) => answer !== 200);
  if (others.length === 0) return;
  const reasons = [...new Set(others.map(({ what, answer }) => `${what}: ${answer}`))];
  throw new Error(`${others.length} of ${attempts.length} not served: ${reasons.join(', ')}`);
}
