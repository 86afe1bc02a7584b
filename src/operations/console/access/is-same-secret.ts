import { createHash, timingSafeEqual } from 'node:crypto';

const hash = (text: string) => createHash('sha256').update(text).digest();

/** Whether two texts are the same, in a time that tells nothing of either, nor of their lengths. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(hash(one), hash(other));
}
