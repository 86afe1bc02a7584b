import { createHmac } from 'node:crypto';
import type { Query } from '../postgres/database.ts';
import { redactBody } from '../stripe/redact-body.ts';
import { readBodiesOfCustomer, replaceBodies } from './event-bodies.ts';

const PAGE = 200;

const PSEUDONYM = /^redacted_[0-9a-f]{16}$/;

/** Returns a pseudonym for any text. Without the key, the text can't be found by trying candidates. */
export function pseudonymsWith(key: string | Uint8Array): (text: string) => string {
  return (text) => {
    if (PSEUDONYM.test(text)) return text;
    return `redacted_${createHmac('sha256', key).update(text).digest('hex').slice(0, 16)}`;
  };
}

/**
 * Removes personal data from all logged events of a customer. It changes no team, now or later: values that
 * decide stay, and keys still recognize duplicates. Unreadable events name no customer, so they stay until
 * they are pruned. Returns the number of events.
 */
export async function redactEvents(
  query: Query,
  customerId: string,
  pseudonymOf: (text: string) => string,
): Promise<number> {
  let count = 0;
  for (let afterPosition = 0; ; ) {
    const page = await readBodiesOfCustomer(query, customerId, { afterPosition, limit: PAGE });
    const last = page.at(-1);
    if (last === undefined) return count;
    await replaceBodies(
      query,
      page.map(({ position, body }) => ({ position, body: redactBody(body, pseudonymOf) })),
    );
    count += page.length;
    afterPosition = last.position;
  }
}
