import { scryptSync, timingSafeEqual } from 'node:crypto';

/** Compares with the salt and hash that `lib/db/setup.js` writes. */
export function isPassword(password: string, stored: string) {
  const [salt = '', hash = ''] = stored.split(':');
  const expected = Buffer.from(hash, 'hex');
  return timingSafeEqual(scryptSync(password, salt, expected.length), expected);
}
