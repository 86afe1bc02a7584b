// Removes personal data from logged events without changing what they decide. An operator's task calls it for the
// log of a customer, and exports for single events.

import { createHmac } from 'node:crypto';
import type { Query } from '../postgres/database.ts';
import { columnArrays } from '../postgres/statement.ts';
import { isList, type Json } from '../rule/json.ts';

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

type EventBody = { position: number; body: Uint8Array };

/** Some readable events of a customer after a position, in the order of arrival. */
async function readBodiesOfCustomer(
  query: Query,
  customerId: string,
  { afterPosition, limit }: { afterPosition: number; limit: number },
): Promise<EventBody[]> {
  return await query<EventBody>({
    name: 'read_bodies_of_customer',
    text: `
      select position, body
        from instep.events
       where customer_id = $1
         and position > $2
         and outcome <> 'unreadable'
       order by position
       limit $3`,
    values: [customerId, afterPosition, limit],
  });
}

/** Replaces the bodies at these positions. Nothing else ever changes a body. */
async function replaceBodies(query: Query, bodies: readonly EventBody[]): Promise<void> {
  await query({
    name: 'replace_bodies',
    text: `
      update instep.events as event
         set body = replaced.body
        from unnest($1::bigint[], $2::bytea[]) as replaced (position, body)
       where event.position = replaced.position`,
    values: columnArrays(bodies, 'position', 'body'),
  });
}

/** The members whose strings are ids or Stripe's own values. */
const KEPT: ReadonlySet<string> = new Set([
  'api_version',
  'collection_method',
  'currency',
  'customer',
  'default_payment_method',
  'default_source',
  'id',
  'interval',
  'latest_invoice',
  'missing_payment_method',
  'object',
  'observed_keys',
  'product',
  'status',
  'type',
]);

/**
 * Replaces strings in the body of a logged event that can be personal data, such as metadata, descriptions
 * and addresses. Ids, statuses, names of products, numbers and times stay. Equal strings must get equal
 * pseudonyms, because the order of a second depends on which values are equal.
 */
export function redactBody(body: Uint8Array, pseudonymOf: (text: string) => string): Uint8Array {
  const event: Json = JSON.parse(new TextDecoder().decode(body));
  return Buffer.from(JSON.stringify(redact(event, [], pseudonymOf)));
}

/** `path`: the names of the members that lead to the value. */
function redact(value: Json, path: readonly string[], pseudonymOf: (text: string) => string): Json {
  if (typeof value === 'string') return isKept(path) ? value : pseudonymOf(value);
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) return value.map((entry) => redact(entry, path, pseudonymOf));
  // The keys of metadata are the app's own, and can be personal data too.
  const isOwn = path.includes('metadata');
  const members = Object.entries(value).map(([name, member]): [string, Json] => [
    isOwn ? pseudonymOf(name) : name,
    redact(member, [...path, name], pseudonymOf),
  ]);
  return Object.fromEntries(members);
}

function isKept(path: readonly string[]): boolean {
  if (path.includes('metadata')) return false;
  const [parent = '', name = ''] = path.slice(-2);
  const isProductName = name === 'name' && ['plan', 'product'].includes(parent);
  return isProductName || KEPT.has(path.at(-1) ?? '');
}
