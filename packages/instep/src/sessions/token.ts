// Imports only the needed parts: the whole package takes four times as long to load.

import type { JWTPayload } from 'jose';
import * as errors from 'jose/errors';
import { SignJWT } from 'jose/jwt/sign';
import { jwtVerify } from 'jose/jwt/verify';
import * as v from 'valibot';
import type { ApplicationId } from '../core/application-id.ts';

/** A verified session. */
export type Session = {
  readonly userId: ApplicationId;
  /** The end of the session, in milliseconds since 1970. */
  readonly expiresAtMs: number;
};

/** Fixed here, so that the token can't choose it. */
const ALGORITHM = 'HS256';

/** A number, or a UUID or other id as text. PostgreSQL rejects NUL in text. */
const userId = v.union([
  v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  v.pipe(v.string(), v.regex(/^\P{Cc}{1,255}$/u)),
]);

/** `Date.parse` reads the 30th of February as a day in March. */
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

export type SecretKeys = readonly Uint8Array[];

/** The keys of `AUTH_SECRET`: its UTF-8 bytes. */
export function secretKeys(secrets: readonly string[]): SecretKeys {
  return secrets.map(keyOf);
}

function keyOf(secret: string): Uint8Array {
  return new TextEncoder().encode(secret);
}

/**
 * The session that a token stands for, or `null` for any token that does not verify, has no user, or has
 * expired. `exp` and `expires` both count, and at least one of them is required.
 */
export async function verifySession(
  token: string,
  keys: SecretKeys,
  nowMs: number,
): Promise<Session | null> {
  for (const key of keys) {
    const payload = await verify(token, key, nowMs);
    if (payload !== null) return toSession(payload, nowMs);
  }
  return null;
}

async function verify(token: string, key: Uint8Array, nowMs: number): Promise<JWTPayload | null> {
  try {
    const options = { algorithms: [ALGORITHM], currentDate: new Date(nowMs) };
    return (await jwtVerify(token, key, options)).payload;
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}

function toSession(payload: JWTPayload, nowMs: number): Session | null {
  const parsed = v.safeParse(claims, payload);
  if (!parsed.success) return null;
  const { user, exp, expires } = parsed.output;
  const ends = [
    ...(exp === undefined ? [] : [exp * 1_000]),
    ...(expires === undefined ? [] : [Date.parse(expires)]),
  ];
  const expiresAtMs = Math.min(...ends);
  return ends.length > 0 && nowMs < expiresAtMs ? { userId: user.id, expiresAtMs } : null;
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
