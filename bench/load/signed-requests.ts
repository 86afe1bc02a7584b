import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { bodyOf, type EventContent } from './subscription-event.ts';

type SignedRequests = {
  readonly host: string;
  readonly path: string;
  readonly secret: string;
};

/** Returns a function that creates the bytes of a webhook request, signed with the current time. */
export function createSigner({ host, path, secret }: SignedRequests) {
  const key = createSecretKey(secret, 'utf8');
  return (content: EventContent): Buffer => {
    const body = bodyOf(content);
    const head =
      `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n` +
      `Stripe-Signature: ${signatureOf(body, key)}\r\nContent-Length: ${body.length}\r\n\r\n`;
    // The text is ASCII.
    return Buffer.from(head + body, 'latin1');
  };
}

function signatureOf(body: string, key: KeyObject): string {
  const timestamp = Math.floor(Date.now() / 1_000);
  const mac = createHmac('sha256', key).update(`${timestamp}.${body}`).digest('hex');
  return `t=${timestamp},v1=${mac}`;
}
