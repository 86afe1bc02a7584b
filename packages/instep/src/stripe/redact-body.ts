import { isList, type Json } from '../core/json.ts';

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
  const members = Object.entries(value).map(([name, member]): [string, Json] => [
    name,
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
