import type { ApiCollection, ApiObject } from './collection.ts';
import { type ApiResponse, invalidParameter, notFound, ok } from './responses.ts';

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 10;

/** Without a status, Stripe lists only subscriptions that have not ended. */
const ENDED: ReadonlySet<string> = new Set(['canceled', 'incomplete_expired']);

/** One page of a list: the objects after the cursor that match the filter, the newest first. */
export function listObjects(
  collection: ApiCollection,
  kind: string,
  parameters: URLSearchParams,
): ApiResponse {
  const limit = Number(parameters.get('limit') ?? DEFAULT_LIMIT);
  if (!(limit >= 1 && limit <= MAX_LIMIT)) {
    return invalidParameter('limit', 'limit must be from 1 to 100');
  }
  const objects = collection.newestFirst();
  const cursor = parameters.get('starting_after');
  const before = cursor === null ? -1 : objects.findIndex(({ id }) => id === cursor);
  if (cursor !== null && before === -1) return notFound('starting_after', kind, cursor);

  const filters = filtersOf(kind, parameters);
  const data: ApiObject[] = [];
  for (let index = before + 1; index < objects.length && data.length <= limit; index += 1) {
    const object = objects[index];
    if (object !== undefined && filters.every((matches) => matches(object))) data.push(object);
  }
  const has_more = data.length > limit;
  return ok({ object: 'list', data: data.slice(0, limit), has_more, url: `/v1/${kind}s` });
}

type Filter = (object: ApiObject) => boolean;

function filtersOf(kind: string, parameters: URLSearchParams): Filter[] {
  const filters: Filter[] = [];
  for (const [name, value] of parameters) {
    const seconds = Number(value);
    if (name === 'created[gte]') filters.push(({ created = 0 }) => created >= seconds);
    if (name === 'created[lte]') filters.push(({ created = 0 }) => created <= seconds);
    if (name === 'customer') filters.push(({ customer }) => customer === value);
  }
  const types = [...parameters].flatMap(([name, value]) =>
    /^types\[\d*\]$/.test(name) ? value : [],
  );
  if (types.length > 0) filters.push(({ type }) => types.includes(String(type)));
  const status = parameters.get('status');
  if (kind === 'subscription' && status === null) {
    filters.push((object) => !ENDED.has(String(object.status)));
  } else if (status !== null && status !== 'all') filters.push((one) => one.status === status);
  return filters;
}
