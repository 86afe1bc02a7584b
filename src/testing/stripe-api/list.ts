import type { StripeAccount } from './account.ts';
import { type ApiAnswer, answer, invalid, missing } from './answer.ts';
import type { ApiObject, Collection } from './collection.ts';

type Matches = (object: ApiObject) => boolean;

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 10;

const OVER: readonly unknown[] = ['canceled', 'incomplete_expired'];

/** One page of a list: those after the cursor that match, the newest first. */
export function listObjects(
  collection: Collection | undefined,
  kind: string,
  parameters: URLSearchParams,
  account: StripeAccount,
): ApiAnswer {
  const limit = Number(parameters.get('limit') ?? DEFAULT_LIMIT);
  if (!(limit >= 1 && limit <= MAX_LIMIT)) return invalid('limit', 'limit must be from 1 to 100');
  const customerId = parameters.get('customer');
  if (customerId !== null && !isCustomer(customerId, account)) {
    return missing('customer', 'customer', customerId);
  }
  const objects = collection?.newestFirst() ?? [];
  const cursor = parameters.get('starting_after');
  const before = cursor === null ? -1 : objects.findIndex(({ id }) => id === cursor);
  if (cursor !== null && before === -1) return missing('starting_after', kind, cursor);

  const matches = matchersOf(kind, parameters);
  const data: ApiObject[] = [];
  for (let index = before + 1; index < objects.length && data.length <= limit; index += 1) {
    const object = objects[index];
    if (object !== undefined && matches.every((match) => match(object))) data.push(object);
  }
  const has_more = data.length > limit;
  return answer(200, { object: 'list', data: data.slice(0, limit), has_more, url: `/v1/${kind}s` });
}

/** What an object must be to be listed. */
function matchersOf(kind: string, parameters: URLSearchParams): Matches[] {
  const matches: Matches[] = [];
  for (const [name, value] of parameters) {
    const at = Number(value);
    if (name === 'created[gte]') matches.push(({ created = 0 }) => created >= at);
    if (name === 'created[lte]') matches.push(({ created = 0 }) => created <= at);
    if (name === 'customer') matches.push(({ customer }) => customer === value);
  }
  const types = [...parameters].flatMap(([name, value]) =>
    /^types\[\d*\]$/.test(name) ? value : [],
  );
  if (types.length > 0) matches.push(({ type }) => types.includes(String(type)));
  const status = parameters.get('status');
  if (kind === 'subscription' && status === null) {
    matches.push((object) => !OVER.includes(object.status));
  } else if (status !== null && status !== 'all') matches.push((one) => one.status === status);
  return matches;
}

/** A customer is known by itself, or by a subscription. */
function isCustomer(id: string, { customers, subscriptions }: StripeAccount): boolean {
  const isKnown = customers?.get(id) !== undefined;
  return isKnown || (subscriptions?.newestFirst().some(({ customer }) => customer === id) ?? false);
}
