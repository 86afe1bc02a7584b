// The session's JWT and its cookie. http/user.ts reads them, an app can with `readSession`, and the commands issue
// them.

import type { JWTPayload } from 'jose';
import * as errors from 'jose/errors';
import { SignJWT } from 'jose/jwt/sign';
import { jwtVerify } from 'jose/jwt/verify';
import * as v from 'valibot';
import type { ApplicationId } from '../postgres/application.ts';
import { BoundedCache } from '../runtime/bounded-cache.ts';

// Imports only the needed parts: the whole package takes four times as long to load.

/** A verified session. */
export type Session = {
  readonly userId: ApplicationId;
  /** The end of the session, in milliseconds since 1970. */
  readonly expiresAtMs: number;
};

/**
 * Why a token stands for no session: it has a `signature` of another secret, it has `expired`, or it is `invalid` as a
 * session.
 */
export const REJECTIONS = ['signature', 'expired', 'invalid'] as const;
export type Rejection = (typeof REJECTIONS)[number];

/** Fixed here, so that the token can't choose it. */
const ALGORITHM = 'HS256';

/** A number, or a UUID or other id as text. PostgreSQL rejects NUL in text. */
const userId = v.union([
  v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  v.pipe(v.string(), v.regex(/^\P{Cc}{1,255}$/u)),
]);

/** Whether a text begins with a day of the calendar: `Date.parse` reads the 30th of February as a day in March. */
const isDayOfMonth = (text: string) =>
  new Date(text.slice(0, 10)).getUTCDate() === Number(text.slice(8, 10));

/** In the format of `toISOString`, or with an offset. Valibot alone would also accept other formats. */
const timestamp = v.pipe(
  v.string(),
  v.isoTimestamp(),
  v.regex(/^\S+T\S+(?:Z|[+-]\d\d:\d\d)$/),
  v.check(isDayOfMonth),
);

/** The claims as nextjs/saas-starter writes them (docs/contract.md). */
const claims = v.object({
  user: v.object({ id: userId }),
  exp: v.optional(v.pipe(v.number(), v.finite())),
  expires: v.optional(timestamp),
});

type SecretKeys = readonly Uint8Array[];

/** The keys of `AUTH_SECRET`: its UTF-8 bytes. */
export function secretKeys(secrets: readonly string[]): SecretKeys {
  return secrets.map(keyOf);
}

function keyOf(secret: string): Uint8Array {
  return new TextEncoder().encode(secret);
}

/**
 * The session that a token stands for, or why it stands for none. `exp` and `expires` both count, and at least one of
 * them is required.
 */
export async function verifySession(
  token: string,
  keys: SecretKeys,
  nowMs: number,
): Promise<Session | Rejection> {
  const options = { algorithms: [ALGORITHM], currentDate: new Date(nowMs) };
  for (const key of keys) {
    try {
      return toSession((await jwtVerify(token, key, options)).payload, nowMs);
    } catch (error) {
      if (error instanceof errors.JWSSignatureVerificationFailed) continue;
      if (error instanceof errors.JWTExpired) return 'expired';
      if (error instanceof errors.JOSEError) return 'invalid';
      throw error;
    }
  }
  return 'signature';
}

function toSession(payload: JWTPayload, nowMs: number): Session | Rejection {
  const parsed = v.safeParse(claims, payload);
  if (!parsed.success) return 'invalid';
  const { user, exp, expires } = parsed.output;
  if (exp === undefined && expires === undefined) return 'invalid';
  const expiresAtMs = Math.min(
    exp === undefined ? Number.POSITIVE_INFINITY : exp * 1_000,
    expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(expires),
  );
  return nowMs < expiresAtMs ? { userId: user.id, expiresAtMs } : 'expired';
}

/**
 * A token for a user, with the claims that `verifySession` reads. It is valid for `lifetimeMs` from `nowMs`.
 */
export async function issueSession(
  userId: ApplicationId,
  secret: string,
  { nowMs, lifetimeMs }: { nowMs: number; lifetimeMs: number },
): Promise<string> {
  const expiresAtMs = nowMs + lifetimeMs;
  return await new SignJWT({ user: { id: userId }, expires: new Date(expiresAtMs).toISOString() })
    .setProtectedHeader({ alg: ALGORITHM })
    .setIssuedAt(Math.floor(nowMs / 1_000))
    .setExpirationTime(Math.floor(expiresAtMs / 1_000))
    .sign(keyOf(secret));
}

export const SESSION_COOKIE = 'session';

/** Longer than any token that the application issues, but short enough to verify cheaply. */
const MAX_TOKEN_LENGTH = 4_096;

const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * The token in a `Cookie` header, or `null`. The first of several cookies with this name counts, because it
 * has the most specific path (RFC 6265, section 5.4). Quotes and percent signs are never part of a token.
 */
export function sessionToken(header: string | null): string | null {
  for (const pair of header?.split(';') ?? []) {
    const separator = pair.indexOf('=');
    if (separator === -1 || pair.slice(0, separator).trim() !== SESSION_COOKIE) continue;
    const value = pair.slice(separator + 1).trim();
    return value.length <= MAX_TOKEN_LENGTH && TOKEN.test(value) ? value : null;
  }
  return null;
}

const MAX_CACHED = 10_000;

/**
 * Verifies tokens, and caches valid ones until they expire: the result for a token can't change before that.
 * `now` is in milliseconds since 1970. `onRead` gets why a token stands for no session; the empty text if it does.
 */
export class SessionReader {
  #keys: SecretKeys;
  #now: () => number;
  #onRead: (rejection: Rejection | '') => void;
  #verified = new BoundedCache<string, Session>(MAX_CACHED);

  constructor(
    keys: SecretKeys,
    now: () => number,
    onRead: (rejection: Rejection | '') => void = () => undefined,
  ) {
    this.#keys = keys;
    this.#now = now;
    this.#onRead = onRead;
  }

  /** The session that a token stands for at this time, or `null`. */
  async read(token: string, nowMs = this.#now()): Promise<Session | null> {
    const cached = this.#verified.get(token);
    const session = cached ?? (await verifySession(token, this.#keys, nowMs));
    if (typeof session === 'string') {
      this.#onRead(session);
      return null;
    }
    if (nowMs >= session.expiresAtMs) {
      this.#verified.delete(token);
      this.#onRead('expired');
      return null;
    }
    if (cached === undefined) this.#verified.set(token, session);
    this.#onRead('');
    return session;
  }
}
