// Hides all shapes of events that Stripe has sent since 2012. The webhook parses what arrives, all others what is in
// the log.

import * as v from 'valibot';
import type { SubscriptionEvent } from '../rule/event.ts';
import { asObject, isList, type Json, type JsonObject, member } from '../rule/json.ts';
import { InstepError } from '../runtime/errors.ts';
import { eventKey } from './event-key.ts';
import { type EventOrigin, originOf } from './key-kind.ts';

export const DELETED_TYPE = 'customer.subscription.deleted';

/** The two event types that the contract names. */
export const HANDLED_TYPES = ['customer.subscription.updated', DELETED_TYPE] as const;

export type HandledType = (typeof HANDLED_TYPES)[number];

export function isHandledType(type: string): type is HandledType {
  return (HANDLED_TYPES as readonly string[]).includes(type);
}

/** The types of notifications, which an event destination with thin payload receives. */
export const NOTIFICATION_TYPES = HANDLED_TYPES.map((type) => `v1.${type}` as const);

export type NotificationType = (typeof NOTIFICATION_TYPES)[number];

export function isNotificationType(type: string): type is NotificationType {
  return (NOTIFICATION_TYPES as readonly string[]).includes(type);
}

/** The type of a subscription snapshot in the log. */
export const SNAPSHOT_TYPE = 'instep.subscription_snapshot';

/** What a signed body can be. The ingest pipeline takes the first two kinds; the first is a `SubscriptionEvent`. */
export type StripeEvent =
  | ReadableEvent
  | UnreadableEvent
  | EventNotification
  | UnhandledEvent
  | NotAnEvent;

type HandledEvent = {
  /** Its key in the log: see `eventKey`. */
  readonly key: string;
  readonly eventId: string | null;
  readonly type: HandledType;
  /** Its mode, live or test, and its account. Left out when the event was read from the log. */
  readonly origin?: EventOrigin;
};

export type ReadableEvent = HandledEvent & SubscriptionEvent & { readonly kind: 'readable' };

/** An event of a handled type with an unknown shape. It is still logged. */
export type UnreadableEvent = HandledEvent & {
  readonly kind: 'unreadable';
  readonly problem: string;
};

/** Announces an event of a handled type without its content, which must be retrieved. */
export type EventNotification = {
  readonly kind: 'notification';
  /** The notification's own id: the event that it announces has another one. */
  readonly eventId: string;
  readonly type: NotificationType;
  readonly origin: EventOrigin;
};

/** An event of a type that the endpoint is not registered for. */
type UnhandledEvent = {
  readonly kind: 'unhandled';
  readonly eventId: string | null;
  readonly type: string;
};

/** Signed JSON that lacks an event's type, or a notification's id. It is not stored: it names no team. */
type NotAnEvent = {
  readonly kind: 'not-an-event';
  readonly eventId: string | null;
  readonly problem: string;
};

export class BodyNotJson extends InstepError {
  readonly code = 'BODY_NOT_JSON';
}

export type ParseOptions = {
  readonly receivedAtMs: number;
  /** A unique text, which makes every event without an id unique. */
  readonly nonce: () => string;
};

/**
 * Parses a signed event: the fields that docs/contract.md lists.
 *
 * @throws BodyNotJson when the text is not JSON; nothing else about a signed text is an error
 */
export function parseEvent(text: string, { receivedAtMs, nonce }: ParseOptions): StripeEvent {
  const event = parseJson(text);
  const eventId = storableText(member(event, 'id'));
  const type = member(event, 'type');
  if (typeof type !== 'string')
    return { kind: 'not-an-event', eventId, problem: 'type is not a string' };
  const origin = originOf(event);
  if (isNotificationType(type)) {
    if (eventId === null) return { kind: 'not-an-event', eventId, problem: 'id is not a string' };
    return { kind: 'notification', eventId, type, origin };
  }
  if (!isHandledType(type)) return { kind: 'unhandled', eventId, type: storableText(type) ?? '' };

  const data = member(event, 'data') ?? null;
  // `identifying`: what the key is made of, because most of such an event can't be read.
  const unreadable = (problem: string, identifying: Json = data): UnreadableEvent => {
    const nothing = { createdSeconds: null, subscriptionId: null };
    const key = eventKey({ eventId, type, ...nothing, data: identifying }, nonce);
    return { kind: 'unreadable', key, eventId, type, origin, problem };
  };

  try {
    const parsed = v.safeParse(subscriptionEventShape, event);
    if (!parsed.success) return unreadable(problemOf(parsed.issues[0]));
    const createdSeconds = parsed.output.created ?? null;
    const keyless = toParsedEvent(event, parsed.output, receivedAtMs);
    const { subscriptionId } = keyless.subscription;
    const key = eventKey({ eventId, type, createdSeconds, subscriptionId, data }, nonce);
    return { kind: 'readable', key, eventId, type, origin, ...keyless };
  } catch (error) {
    if (error instanceof RangeError) return unreadable('data is nested too deeply', text);
    throw error;
  }
}

/** Without what identifies it. */
type EventContent = Omit<SubscriptionEvent, 'key' | 'eventId' | 'type'>;

/** Parses the body of a logged event or snapshot; `null` when it can't be read. */
export const parseBody = (text: string, receivedAtMs: number): EventContent | null =>
  readBody(parseJson(text), receivedAtMs);

/** The same for a body that is JSON already. */
export function readBody(event: Json, receivedAtMs: number): EventContent | null {
  const parsed = v.safeParse(subscriptionEventShape, event);
  return parsed.success ? toParsedEvent(event, parsed.output, receivedAtMs) : null;
}

function toParsedEvent(
  event: Json,
  { created, data }: v.InferOutput<typeof subscriptionEventShape>,
  receivedAtMs: number,
): EventContent {
  const product = productOf(data.object);
  const type = member(event, 'type');
  const apiVersion = member(event, 'api_version');
  const isSnapshot = type === SNAPSHOT_TYPE;
  return {
    apiVersion: typeof apiVersion === 'string' ? apiVersion : null,
    subscription: {
      customerId: data.object.customer,
      subscriptionId: data.object.id ?? null,
      status: data.object.status,
      productId: product.id,
      planName: product.name,
      createdSeconds: created ?? Math.floor(receivedAtMs / 1_000),
    },
    object: asObject(member(member(event, 'data'), 'object')) ?? {},
    previousAttributes: asObject(member(member(event, 'data'), 'previous_attributes')),
    isDeletion: type === DELETED_TYPE,
    isSnapshot,
    seenKeys: isSnapshot ? seenKeysIn(member(event, 'observed_keys')) : null,
  };
}

function seenKeysIn(value: Json | undefined): ReadonlySet<string> | null {
  if (!isList(value)) return null;
  return new Set(value.filter((key) => typeof key === 'string'));
}

/** Drops the parser's own message, which quotes the text, so that no log repeats a payload. */
function parseJson(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    throw new BodyNotJson('the body is not JSON');
  }
}

/** An id or a type, shortened and cleaned so that it can be stored and logged; `null` if it is no text. */
function storableText(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null;
  return value.slice(0, MAX_ID_LENGTH).toWellFormed().replaceAll('\0', '\uFFFD');
}

/** Names the path of a problem but not its content, so that no log repeats a payload. */
function problemOf(issue: v.InferIssue<typeof subscriptionEventShape>): string {
  const { expected, received, message } = issue;
  const problem = expected === null ? message : `expected ${expected}`;
  return `${v.getDotPath(issue)}: ${received === 'undefined' ? 'is missing' : problem}`;
}

/** Longer than any id at Stripe, and short enough for every index of PostgreSQL. */
const MAX_ID_LENGTH = 255;

/** Longer than any product name at Stripe (250). */
const MAX_NAME_LENGTH = 1_000;

/** The last second of the year 9999. A later time is in milliseconds, and can't be read. */
const MAX_SECONDS = 253_402_300_799;

/** PostgreSQL's `text` rejects NUL and lone surrogates. */
const isStorable = (text: string) => !text.includes('\0') && text.isWellFormed();

const storable = v.pipe(
  v.string(),
  v.minLength(1),
  v.check(isStorable, 'holds NUL or a lone surrogate'),
);
const id = v.pipe(storable, v.maxLength(MAX_ID_LENGTH));

/** Whether a value can be an id at Stripe, or in the application's tables. */
export const isId = (value: unknown): value is string => v.is(id, value);

/** The key of metadata that names a team, where no other is set. */
export const TEAM_KEY = 'teamId';

/**
 * What the metadata of an object at Stripe has under a key, if it can be the id of a team; `null` otherwise. The
 * database decides whether it is one.
 */
export function teamNamedIn(object: JsonObject, key: string): string | null {
  const named = asObject(object.metadata)?.[key];
  return isId(named) ? named : null;
}

const storableName = v.pipe(storable, v.maxLength(MAX_NAME_LENGTH));

/** A name that can't be stored counts as missing, because a plan must never wait for its name. */
const name = v.fallback(v.nullish(storableName), null);

export const isStorableName = (text: unknown): text is string => v.is(storableName, text);

/** Unlike Valibot's own, it rejects lists. */
function object<Entries extends v.ObjectEntries>(entries: Entries) {
  const isNoList = (value: object) => !Array.isArray(value);
  return v.pipe(v.instance(Object), v.check(isNoList, 'is a list'), v.object(entries));
}

/** An id, or the object itself when it was expanded. */
const reference = v.union([
  id,
  v.pipe(
    object({ id }),
    v.transform((expanded) => expanded.id),
  ),
]);

const product = v.union([
  v.pipe(
    id,
    v.transform((productId) => ({ id: productId, name: null })),
  ),
  object({ id, name }),
]);

const item = object({
  plan: v.nullish(object({ product: v.nullish(product), name })),
  price: v.nullish(object({ product: v.nullish(product) })),
});

const firstItem = v.pipe(
  v.array(v.unknown()),
  v.transform(([first]) => first),
  v.optional(item),
);

/** The part of a subscription that we read, in every shape that Stripe has sent since 2012. */
const subscription = object({
  id: v.nullish(id),
  customer: reference,
  status: v.pipe(storable, v.maxLength(MAX_ID_LENGTH)),
  items: v.nullish(object({ data: v.nullish(firstItem) })),
  plan: v.fallback(v.nullish(object({ name })), null),
});

const createdSeconds = v.pipe(
  v.number(),
  v.integer('is not a whole number'),
  v.minValue(0),
  v.maxValue(MAX_SECONDS),
);

/** An event that carries a subscription. Further members are ignored. */
const subscriptionEventShape = object({
  id: v.nullish(id),
  created: v.nullish(createdSeconds),
  data: object({ object: subscription }),
});

/**
 * The product of the first item. `plan.name` is the product's name only if there is no product: early API
 * versions had no products, and before items existed, the subscription itself had the plan. In between
 * (2017-01-27), a plan had a product and also a name of its own, which is not the product's.
 */
function productOf({ items, plan }: v.InferOutput<typeof subscription>): {
  id: string | null;
  name: string | null;
} {
  const first = items?.data ?? undefined;
  const found = first?.plan?.product ?? first?.price?.product;
  if (found) return { id: found.id, name: found.name ?? null };
  return { id: null, name: (first === undefined ? plan : first.plan)?.name ?? null };
}
