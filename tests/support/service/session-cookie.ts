import type { ApplicationId } from 'instep';
import { issueSession } from '../internals/sessions.ts';
import { AUTH_SECRET } from '../secrets/test-secrets.ts';

const LIFETIME_MS = 86_400_000;

/** The cookie of a user who signs in now, by default signed with the tests' secret. */
export async function sessionCookie(userId: ApplicationId, secret = AUTH_SECRET): Promise<string> {
  const lifetime = { nowMs: Date.now(), lifetimeMs: LIFETIME_MS };
  return `session=${await issueSession(userId, secret, lifetime)}`;
}
