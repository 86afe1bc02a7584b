import { type Environment, readAuthSecrets } from '../config/config.ts';
import { type Session, secretKeys, sessionToken, verifySession } from '../sessions/token.ts';

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
  const keys = secretKeys(readAuthSecrets(environment));
  const token = sessionToken(request.headers.get('cookie'));
  return token === null ? null : await verifySession(token, keys, now());
}
