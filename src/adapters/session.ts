import { type Environment, readAuthSecrets } from '../config/config.ts';
import { sessionToken } from '../sessions/cookie.ts';
import { type Session, secretKeys, verifySession } from '../sessions/token.ts';

export type ReadSessionOptions = {
  /** Has `AUTH_SECRET`; `process.env` by default. */
  readonly environment?: Environment;
  /** In milliseconds since 1970; `Date.now` by default. */
  readonly now?: () => number;
};

/**
 * The session in the cookie of a request, or `null` when there is none, or when it is invalid or has
 * expired. No database is asked, so the user can be deleted since then; `GET /api/user` asks it.
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
  request: { readonly headers: Pick<Headers, 'get'> },
  { environment = process.env, now = Date.now }: ReadSessionOptions = {},
): Promise<Session | null> {
  const keys = secretKeys(readAuthSecrets(environment));
  const token = sessionToken(request.headers.get('cookie'));
  return token === null ? null : await verifySession(token, keys, now());
}
