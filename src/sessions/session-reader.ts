import { type SecretKeys, type Session, verifySession } from './token.ts';

/** The id of the user whom a token identifies now, or `null`. */
export type ReadSession = (token: string) => Promise<number | null>;

const MAX_REMEMBERED = 10_000;

/**
 * Verifies tokens, and remembers those that verified until they expire: the answer to the same
 * token cannot change before that. Bounded; the token that came first leaves first. `now` is in
 * milliseconds since 1970.
 */
export function createSessionReader(keys: SecretKeys, now: () => number): ReadSession {
  const verified = new Map<string, Session>();

  function remember(token: string, session: Session): void {
    const [oldest] = verified.keys();
    if (verified.size >= MAX_REMEMBERED && oldest !== undefined) verified.delete(oldest);
    verified.set(token, session);
  }

  return async (token) => {
    const known = verified.get(token);
    if (known !== undefined) {
      if (now() < known.expiresAtMs) return known.userId;
      verified.delete(token);
      return null;
    }
    const session = await verifySession(token, keys, now());
    if (session === null) return null;
    remember(token, session);
    return session.userId;
  };
}
