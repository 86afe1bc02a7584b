/** The name of the cookie in the contract. */
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
