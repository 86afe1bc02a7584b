import { ENDED_STATUSES } from '../core/status.ts';
/** An object as Stripe's API returns it. */
export type ApiObject = {
  readonly id: string;
  /** In whole seconds since 1970. */
  readonly created?: number;
  readonly customer?: unknown;
  readonly email?: unknown;
  readonly subscription?: unknown;
  readonly status?: unknown;
  readonly type?: unknown;
  /** The test clock of a customer or a subscription; without one, its times are real. */
  readonly test_clock?: unknown;
};

/** The API's objects of one kind. They can change at any time, even while a list of them is read. */
export class ApiCollection {
  #objects = new Map<string, ApiObject>();
  #newestFirst: readonly ApiObject[] | null = null;

  constructor(objects: Iterable<ApiObject> = []) {
    for (const object of objects) this.#objects.set(object.id, object);
  }

  get size(): number {
    return this.#objects.size;
  }

  get(id: string): ApiObject | undefined {
    return this.#objects.get(id);
  }

  /** Adds an object, or replaces the one with its id. */
  set(object: ApiObject): void {
    this.#objects.set(object.id, object);
    this.#newestFirst = null;
  }

  delete(id: string): void {
    this.#objects.delete(id);
    this.#newestFirst = null;
  }

  /** In the API's order: by `created`, and within one second the last one added first. */
  newestFirst(): readonly ApiObject[] {
    this.#newestFirst ??= [...this.#objects.values()]
      .reverse()
      .sort((one, other) => (other.created ?? 0) - (one.created ?? 0));
    return this.#newestFirst;
  }
}

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 10;

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
    if (name === 'email') filters.push(({ email }) => email === value);
    if (name === 'customer') filters.push(({ customer }) => customer === value);
  }
  const types = [...parameters].flatMap(([name, value]) =>
    /^types\[\d*\]$/.test(name) ? value : [],
  );
  if (types.length > 0) filters.push(({ type }) => types.includes(String(type)));
  const clock = parameters.get('test_clock');
  // Stripe leaves out what belongs to a test clock, unless it is asked for the clock or the customer.
  const hasClocks = kind === 'subscription' || kind === 'customer';
  if (hasClocks && !(clock === null && parameters.has('customer'))) {
    filters.push(({ test_clock }) => (test_clock ?? null) === clock);
  }
  const status = parameters.get('status');
  if (kind === 'subscription' && status === null) {
    // Stripe then lists only those that have not ended.
    filters.push((object) => !ENDED_STATUSES.includes(String(object.status)));
  } else if (status !== null && status !== 'all') filters.push((one) => one.status === status);
  return filters;
}

export type ApiResponse = { readonly status: number; readonly body: unknown };

export function ok(body: unknown): ApiResponse {
  return { status: 200, body };
}

/** Stripe answers 404 to an unknown id in the path, and 400 to one in a parameter. */
export function notFound(param: string, kind: string, id: string): ApiResponse {
  const message = `No such ${kind}: '${id}'`;
  const error = { type: 'invalid_request_error', code: 'resource_missing', param, message };
  return { status: param === 'id' ? 404 : 400, body: { error } };
}

function invalidParameter(param: string, message: string): ApiResponse {
  return { status: 400, body: { error: { type: 'invalid_request_error', param, message } } };
}

/** A failure that the request did not cause. */
export function failure(status: number): ApiResponse {
  const type = status >= 500 ? 'api_error' : 'invalid_request_error';
  return { status, body: { error: { type, message: `A simulated failure: ${status}.` } } };
}
