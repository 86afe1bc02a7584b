import { isUtf8 } from 'node:buffer';
import { createHmac } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  BodyNotJson,
  parseBody,
  parseEvent,
  type ReadableEvent,
  type StripeEvent,
} from 'instep-engine/src/stripe/parse-event.ts';
import { SignatureInvalid, SignatureVerifier } from 'instep-engine/src/stripe/signature.ts';
import { expect } from 'vitest';
import { eventBody } from '../../support/stripe/events.ts';
import type { Target } from '../fuzz.ts';

const NOW_SECONDS = 1_700_000_000;
const SECRET = 'whsec_of_the_fuzzer';
const RECEIPT = { receivedAtMs: NOW_SECONDS * 1_000, nonce: () => 'nonce' };
const verifier = new SignatureVerifier([SECRET]);
const TYPES = ['customer.subscription.updated', 'customer.subscription.deleted'];
const NOTIFICATION = 'v1.customer.subscription.updated';

const KEY = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;
const TOO_DEEP = 'data is nested too deeply';

/** The same JSON in a different notation; `null` when it is nested too deeply to be written. */
function rewrite(text: string): string | null {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
const MEMBERS = {
  readable:
    'apiVersion,eventId,isDeletion,isSnapshot,key,kind,object,origin,previousAttributes,seenKeys,subscription,type',
  unreadable: 'eventId,key,kind,origin,problem,type',
  notification: 'eventId,kind,origin,type',
  unhandled: 'eventId,kind,type',
  'not-an-event': 'eventId,kind,problem',
};
const SUBSCRIPTION = 'createdSeconds,customerId,planName,productId,status,subscriptionId';

const membersOf = (value: object) => Object.keys(value).sort().join();

/** Expects text that PostgreSQL can store. */
function expectText(value: unknown, maxLength: number, minLength = 1): void {
  const text = String(value);
  expect(typeof value).toBe('string');
  expect(text.length >= minLength && text.length <= maxLength).toBe(true);
  expect(text.isWellFormed() && !text.includes('\0')).toBe(true);
}

function checkEvent(event: StripeEvent): void {
  expect(membersOf(event)).toBe(MEMBERS[event.kind]);
  if (event.eventId !== null) expectText(event.eventId, 255);
  if (event.kind === 'unhandled') expectText(event.type, 255, 0);
  if ('problem' in event) expectText(event.problem, 200);
  if ('key' in event) {
    expect(event.key).toMatch(KEY);
    expect(TYPES).toContain(event.type);
  }
  if (event.kind === 'readable') checkReadable(event);
}

function checkReadable({
  subscription,
  object: after,
  previousAttributes,
  ...event
}: ReadableEvent): void {
  expect(membersOf(subscription)).toBe(SUBSCRIPTION);
  const { customerId, subscriptionId, status, productId, planName, createdSeconds } = subscription;
  expectText(customerId, 255);
  expectText(status, 255);
  if (subscriptionId !== null) expectText(subscriptionId, 255);
  if (productId !== null) expectText(productId, 255);
  if (planName !== null) expectText(planName, 1_000);
  expect(Number.isInteger(createdSeconds)).toBe(true);
  expect(createdSeconds >= 0 && createdSeconds <= 253_402_300_799).toBe(true);
  for (const object of [after, ...(previousAttributes === null ? [] : [previousAttributes])]) {
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
    expect(Array.isArray(object)).toBe(false);
  }
  expect(event.isDeletion).toBe(event.type === TYPES[1]);
  expect(event.isSnapshot).toBe(false);
  expect(event.seenKeys).toBeNull();
}

/** The verified text of these bytes, signed as Stripe does it; `null` if they are not UTF-8. */
function textOf(bytes: Buffer): string | null {
  const mac = createHmac('sha256', SECRET).update(`${NOW_SECONDS}.`).update(bytes).digest('hex');
  try {
    const signature = verifier.parse(`t=${NOW_SECONDS},v1=${mac}`);
    const text = verifier.verify(bytes, signature, RECEIPT.receivedAtMs);
    expect(Buffer.from(text).equals(bytes)).toBe(true);
    return text;
  } catch (error) {
    if (error instanceof SignatureInvalid) return null;
    throw error;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function parse(text: string): StripeEvent | null {
  try {
    return parseEvent(text, RECEIPT);
  } catch (error) {
    if (error instanceof BodyNotJson && error.message === 'the body is not JSON') return null;
    throw error;
  }
}

const bytesOf = (text: string) => Buffer.from(text).toString('latin1');
const of2012 = { id: 'sub_1', customer: { id: 'cus_1' }, status: 'active', plan: { name: 'Gold' } };
const product = { id: 'prod_1', name: 'Gold' };
const DEEP = `${'['.repeat(9_000)}${']'.repeat(9_000)}`;

/** The bytes of a body that Stripe signed. */
export const event: Target = {
  seeds: [
    eventBody(),
    eventBody({ type: 'customer.subscription.deleted', status: 'canceled' }),
    eventBody({ previousAttributes: { status: 'trialing', items: { data: [{ id: 'si_1' }] } } }),
    eventBody({ type: 'invoice.paid' }),
    JSON.stringify({ type: TYPES[0], data: { object: of2012 } }),
    JSON.stringify({
      id: 'evt_1',
      created: 0,
      type: TYPES[0],
      data: { object: { ...of2012, items: { data: [{ plan: { product } }, 1] } } },
    }),
    `{"type":"${TYPES[1]}","data":{"object":${JSON.stringify(of2012)},"x":${DEEP}}}`,
    JSON.stringify({ id: 'evt_2', type: NOTIFICATION, livemode: true, context: 'acct_1' }),
    '\uFEFF{}',
    '{"type":""}',
  ].map(bytesOf),
  dictionary: [
    ...[...TYPES, NOTIFICATION].map((type) => JSON.stringify(type)),
    ...['"livemode"', '"account"', '"context"'],
    ...['"id"', '"type"', '"created"', '"data"', '"object"', '"previous_attributes"', '"items"'],
    ...['"customer"', '"status"', '"plan"', '"price"', '"product"', '"name"', '"__proto__"'],
    ...[
      '"constructor"',
      '"toString"',
      'null',
      'true',
      'false',
      '{}',
      '[]',
      '""',
      '[{}]',
      '0',
      '-0',
    ],
    ...['-1', '1.5', '1e999', '1e-999', '253402300800', '9007199254740993', '"\\u0000"'],
    ...[
      '"\\ud800"',
      '"\\udc00\\ud800"',
      '\xEF\xBB\xBF',
      '\xED\xA0\x80',
      '\xFF',
      '"\xF0\x9F\x92\xA9"',
    ],
    ...[`"${'a'.repeat(256)}"`, `"${'\xC3\xA9'.repeat(1_001)}"`, ',', ':', '"', '\\'],
    DEEP,
  ],
  check(input) {
    const bytes = Buffer.from(input, 'latin1');
    const text = textOf(bytes);
    expect(text !== null).toBe(isUtf8(bytes));
    if (text === null) return false;
    const parsed = parse(text);
    expect(parsed !== null).toBe(isJson(text));
    if (parsed === null) return false;
    checkEvent(parsed);
    const logged = parseBody(text, RECEIPT.receivedAtMs);
    if (parsed.kind === 'unreadable' && parsed.problem !== TOO_DEEP) expect(logged).toBeNull();
    if (parsed.kind !== 'readable') return false;
    // In a different notation it is the same event, and the log returns it as it was on arrival.
    const { kind, key, eventId, type, origin: _, ...caused } = parsed;
    const rewritten = rewrite(text);
    if (rewritten !== null) expect(parse(rewritten)).toMatchObject({ kind, key, eventId, type });
    // Not `toStrictEqual`, which trusts a member that is named `constructor`.
    expect(isDeepStrictEqual(logged, caused)).toBe(true);
    return true;
  },
};
