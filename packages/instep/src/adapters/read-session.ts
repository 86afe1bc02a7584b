// The session of a request, for an app's own code.

import { type Session, SessionReader, secretKeys, sessionToken } from 'instep-engine/http';
import { BoundedCache } from 'instep-engine/runtime';
import { type Environment, readAuthSecrets } from '../config/config.ts';

const MAX_READERS = 10;

/** One for each `AUTH_SECRET`, so that a token is verified once. */
const readers = new BoundedCache<string, SessionReader>(MAX_READERS);

/** Also with `PROFILE=off`, because the app's own code can sign sessions in the same way. */
function readerFor(environment: Environment): SessionReader {
  const { AUTH_SECRET: secret = '' } = environment;
  const reader =
    readers.get(secret) ?? new SessionReader(secretKeys(readAuthSecrets(environment)), Date.now);
  readers.set(secret, reader);
  return reader;
}

export type ReadSessionOptions = {
  /** Contains `AUTH_SECRET`; `process.env` by default. */
  readonly environment?: Environment;
  /** The current time in milliseconds since 1970; `Date.now` by default. */
  readonly now?: () => number;
};

/**
 * Returns the session in a request's cookie, or `null` when it is missing, invalid or expired. It does not
 * query the database, so the user can have been deleted since; `GET /api/user` checks that.
 *
 * @throws ConfigInvalid when `AUTH_SECRET` is missing
 * @example
 * ```ts
 * import { readSession } from 'instep';
 *
 * const request = new Request('http://localhost/account', { headers: { cookie: 'session=x' } });
 * const session = await readSession(request);
 * console.log(session?.userId ?? 'signed out'); // signed out
 * ```
 */
export async function readSession(
  request: { headers: Pick<Headers, 'get'> },
  { environment = process.env, now = Date.now }: ReadSessionOptions = {},
): Promise<Session | null> {
  const reader = readerFor(environment);
  const token = sessionToken(request.headers.get('cookie'));
  return token === null ? null : await reader.read(token, now());
}
