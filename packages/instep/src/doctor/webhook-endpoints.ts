// The checks of the webhook endpoints that are registered at Stripe. stripe-api.ts calls them.

import { SIGNATURE_FAILED, WEBHOOK_PATH } from 'instep-engine/http';
import {
  HANDLED_TYPES,
  type Mode,
  NOTIFICATION_TYPES,
  type StripePage,
} from 'instep-engine/stripe';
import * as v from 'valibot';
import { type Check, failure, ok, warning } from './check.ts';

const NAME = 'webhook endpoint';
const TIMEOUT_MS = 5_000;

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
export async function checkEndpoints(
  listed: StripePage['objects'],
  expected: Expected,
): Promise<Check[]> {
  const read = listed.map((one) => v.safeParse(endpointShape, one));
  const all = read.flatMap(({ success, output }) => (success ? output : []));
  // Both lists have those with snapshot payload.
  const endpoints = [...new Map(all.map((one) => [one.id, one])).values()];
  const ours = endpoints.filter((one) => isExpected(one, expected));
  if (ours.length === 0) return [noneFound(endpoints, expected)];
  return await Promise.all(ours.map(checkEndpoint));
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
async function checkEndpoint({
  url,
  status,
  payload,
  enabled_events: types,
}: Endpoint): Promise<Check> {
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
  const problem = await checkAddress(url);
  if (problem !== null) return problem;
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

/** Sends an event without a signature. What is wrong at the address; `null`, if it refuses the event as Instep does. */
async function checkAddress(url: URL): Promise<Check | null> {
  const at = shown(url);
  try {
    const response = await fetch(url, {
      method: 'POST',
      body: '{}',
      headers: { 'Content-Type': 'application/json', 'User-Agent': 'instep' },
      // Stripe takes a redirect for a failure.
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await response.text();
    return isRefusal(response.status, text) ? null : answered(at, url, response);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const result = `${at} did not answer this machine: ${cause instanceof Error ? cause.message : cause}`;
    const advice = 'check that it is reachable from the internet, where Stripe sends events from';
    return warning(NAME, result, advice);
  }
}

const refusalShape = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ error: v.literal(SIGNATURE_FAILED) }),
);

const isRefusal = (status: number, text: string) =>
  status === 400 && v.safeParse(refusalShape, text).success;

function answered(at: string, url: URL, { status, headers }: Response): Check {
  const location = headers.get('location');
  if (location !== null && URL.canParse(location, url.href)) {
    const target = shown(new URL(location, url));
    const result = `${at} redirects to ${target} (${status}): Stripe follows no redirects`;
    return failure(NAME, result, `register the address that answers itself, such as ${target}`);
  }
  const result = `${at} does not lead to Instep: it answers ${status} to an event without a signature, and not 400`;
  const advice =
    status === 404
      ? `check the path: the app's own prefix (basePath of Next.js), then ${WEBHOOK_PATH}, and its end (trailingSlash)`
      : 'let the app, and any proxy or login in front of it, pass this path on to Instep, unchanged; its log says more';
  return failure(NAME, result, advice);
}
