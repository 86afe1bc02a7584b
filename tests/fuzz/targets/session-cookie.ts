import { sessionToken } from 'instep-engine/src/http/session-token.ts';
import { expect } from 'vitest';
import type { Target } from '../fuzz.ts';

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl';

/** A second implementation: the value of the first cookie named `session`, if it looks like a token. */
function expectedToken(header: string): string | null {
  const [, value = ''] = /(?:^|;)\s*session\s*=([^;]*)/.exec(header) ?? [];
  const token = value.trim();
  const isToken = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+){2}$/.test(token) && token.length <= 4_096;
  return isToken ? token : null;
}

/** A `Cookie` header. */
export const sessionCookie: Target = {
  seeds: [
    `session=${TOKEN}`,
    `theme=dark; session=${TOKEN}; session=other.than.this`,
    `session=; session=${TOKEN}`,
    `Session=${TOKEN}; session="${TOKEN}"`,
    ';;=;session',
    '',
  ],
  dictionary: [
    ...[TOKEN, 'session', 'session=', '; session=', ';', '=', '.', '-', '_', '"', '%2e', ' ', '\t'],
    ...['\xA0', '\n', '\0', '__proto__=', 'a'.repeat(4_096), `session=${'a.'.repeat(2_047)}aa`],
  ],
  check(input) {
    const token = sessionToken(input === '' ? null : input);
    expect(token).toBe(expectedToken(input));
    return token !== null;
  },
};
