import { createHash, timingSafeEqual } from 'node:crypto';

const hash = (text: string) => createHash('sha256').update(text).digest();

/** Compares two secrets in a time that reveals neither their content nor their length. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(hash(one), hash(other));
}
