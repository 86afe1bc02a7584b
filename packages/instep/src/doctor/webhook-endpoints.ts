// The checks of the webhook endpoints that are registered at Stripe. stripe-api.ts calls them.

import {
  HANDLED_TYPES,
  type Mode,
  NOTIFICATION_TYPES,
  type StripePage,
} from 'instep-engine/stripe';
import * as v from 'valibot';
import { type Check, failure, ok, warning } from './check.ts';

const NAME = 'webhook endpoint';

/** Where Instep listens for events, after the prefix of an app. An app can require the slash. */
const PATH = /\/api\/stripe\/webhook\/?$/;

const WEBHOOKS = 'Stripe dashboard, Developers, Webhooks';
const REGISTER = `register https://…/api/stripe/webhook for ${HANDLED_TYPES.join(' and ')} (${WEBHOOKS})`;

export type Expected = {
  /** The public URL of the webhook route; `null` when it was not given. */
  readonly url: URL | null;
  /** The mode of the key, which sees the endpoints of its own mode only. */
  readonly mode: Mode | null;
};

const url = v.pipe(
  v.string(),
  v.url(),
  v.transform((text) => new URL(text)),
);

const common = { id: v.string(), status: v.string(), enabled_events: v.array(v.string()) };

/** A webhook endpoint, as it is in Stripe's list of them or of event destinations. Others lead elsewhere. */
const endpointShape = v.union([
  v.pipe(
    v.object({ ...common, url }),
    v.transform((one) => ({ ...one, payload: 'snapshot' })),
  ),
  v.pipe(
    v.object({ ...common, event_payload: v.string(), webhook_endpoint: v.object({ url }) }),
    v.transform(({ event_payload: payload, webhook_endpoint: { url }, ...one }) => ({
      ...one,
      ...{ payload, url },
    })),
  ),
]);

/** A thin payload is a notification without the event's content. */
type Endpoint = v.InferOutput<typeof endpointShape>;

/** Checks the endpoint with the given URL, or all whose path is that of the webhook route. */
export function checkEndpoints(listed: StripePage['objects'], expected: Expected): Check[] {
  const read = listed.map((one) => v.safeParse(endpointShape, one));
  const all = read.flatMap(({ success, output }) => (success ? output : []));
  // Both lists have those with snapshot payload.
  const endpoints = [...new Map(all.map((one) => [one.id, one])).values()];
  const ours = endpoints.filter((one) => isExpected(one, expected));
  if (ours.length === 0) return [noneFound(endpoints, expected)];
  return ours.map(checkEndpoint);
}

/** A query can be a secret, so it can be left out. */
function isExpected(
  { url: { href, origin, pathname, search } }: Endpoint,
  { url }: Expected,
): boolean {
  if (url === null) return PATH.test(pathname);
  const isWithoutQuery = url.search === '' && search !== '';
  return href === url.href || (isWithoutQuery && `${origin}${pathname}` === url.href);
}

function noneFound(endpoints: readonly Endpoint[], { url, mode }: Expected): Check {
  const wanted = url === null ? 'ends with /api/stripe/webhook' : `is ${shown(url)}`;
  const known = endpoints.map((endpoint) => shown(endpoint.url)).join(', ') || 'none';
  const where = mode === null ? '' : ` in ${mode} mode`;
  const result = `no registered URL${where} ${wanted}; registered: ${known}`;
  if (url !== null) return failure(NAME, result, REGISTER);
  // Without --url, another path can also lead to Instep.
  if (endpoints.length > 0) return warning(NAME, result, `name yours with --url, or ${REGISTER}`);
  if (mode === 'live') return failure(NAME, result, REGISTER);
  return warning(NAME, result, `${REGISTER}, unless \`stripe listen\` forwards the events`);
}

/** What is wrong with an endpoint, the most severe first. */
function checkEndpoint({ url, status, payload, enabled_events: types }: Endpoint): Check {
  const at = shown(url);
  if (status !== 'enabled') {
    const advice = `enable it (${WEBHOOKS}); Instep then catches up on the missed events`;
    return failure(NAME, `${at} is disabled: Stripe sends no events to it`, advice);
  }
  const needed: readonly string[] = payload === 'thin' ? NOTIFICATION_TYPES : HANDLED_TYPES;
  const missing = needed.filter((type) => !types.includes(type) && !types.includes('*'));
  if (missing.length > 0) {
    const result = `${at} does not receive ${missing.join(' and ')}`;
    return failure(NAME, result, `add what is missing (${WEBHOOKS})`);
  }
  if (types.length > needed.length || types.includes('*')) {
    const result = `${at} receives events of other types, which Instep ignores`;
    return warning(NAME, result, `leave only ${needed.join(' and ')} (${WEBHOOKS})`);
  }
  return ok(NAME, `${at} is enabled for the two types, ${payload} payload`);
}

/** Without user, password and query, which can hold secrets. */
function shown({ origin, pathname, search }: URL): string {
  return `${origin}${pathname}${search === '' ? '' : '?…'}`;
}
