/** The name of the cookie (contract, section 5). */
export const SESSION_COOKIE = 'session';

/** Longer than any token that we issue, and short enough to cost little. */
const MAX_TOKEN_LENGTH = 4_096;

const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * The token in a `Cookie` header, or `null`. Of several cookies of the name the first counts,
 * which is the one with the most specific path (RFC 6265, section 5.4). A token needs neither
 * quotes nor percent signs, so a value that has any is none.
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
