import type { ApplicationId } from '../core/application-id.ts';
import { BoundedCache } from '../runtime/bounded-cache.ts';
import { type SecretKeys, type Session, verifySession } from './token.ts';

/** Returns the id of the user whom a token identifies now, or `null`. */
export type ReadSession = (token: string) => Promise<ApplicationId | null>;

const MAX_CACHED = 10_000;

/**
 * Verifies tokens, and caches valid ones until they expire: the result for a token can't change before that.
 * `now` is in milliseconds since 1970.
 */
export function createSessionReader(keys: SecretKeys, now: () => number): ReadSession {
  const verified = new BoundedCache<string, Session>(MAX_CACHED);
  return async (token) => {
    const cached = verified.get(token);
    const session = cached ?? (await verifySession(token, keys, now()));
    if (session === null) return null;
    if (now() >= session.expiresAtMs) {
      verified.delete(token);
      return null;
    }
    if (cached === undefined) verified.set(token, session);
    return session.userId;
  };
}
