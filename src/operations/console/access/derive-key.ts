import { createHmac, hkdfSync } from 'node:crypto';

/** A key of its own for each purpose, so that what is signed for one counts for no other. */
export function deriveKey(secret: string, purpose: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(hkdfSync('sha256', secret, '', `instep operations ${purpose}`, 32));
}

/** What only the holder of the key can say of this text. */
export function sign(key: Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}
