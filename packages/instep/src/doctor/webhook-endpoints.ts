import * as v from 'valibot';
import type { Json } from '../core/json.ts';
import { counted } from '../runtime/amounts.ts';
import { isKnownVersion, NEWEST_KNOWN_VERSION } from '../stripe/api-call.ts';
import type { Mode } from '../stripe/key-kind.ts';
import { HANDLED_TYPES, NOTIFICATION_TYPES } from '../stripe/parse-event.ts';
import { type Check, failure, ok, warning } from './check.ts';

const NAME = 'webhook endpoint';

/** Where the server listens for events. With a slash at the end, it answers 404. */
const PATH = /\/api\/stripe\/webhook(?<slash>\/?)$/;

const DASHBOARD = 'Stripe dashboard, Developers, Webhooks';
const TYPES = HANDLED_TYPES.join(' and ');
const REGISTER = `register https://…/api/stripe/webhook for ${TYPES} (${DASHBOARD})`;

export type Expected = {
  /** The public URL of the webhook route; `null` when it was not given. */
  readonly url: URL | null;
  /** The mode of the key, which sees the endpoints of its own mode only. */
  readonly mode: Mode | null;
};

const destination = {
  id: v.string(),
  status: v.string(),
  enabled_events: v.array(v.string()),
};

const url = v.pipe(
  v.string(),
  v.url(),
  v.transform((text) => new URL(text)),
);

const endpointShape = v.object({ ...destination, url, api_version: v.nullish(v.string(), null) });

const destinationShape = v.object({
  ...destination,
  event_payload: v.picklist(['snapshot', 'thin']),
  snapshot_api_version: v.nullish(v.string(), null),
  webhook_endpoint: v.object({ url }),
});

/** Destinations of other types, such as Amazon EventBridge. */
const elsewhereShape = v.object({ type: v.pipe(v.string(), v.notValue('webhook_endpoint')) });

/** A registered destination of Stripe's events. */
type WebhookEndpoint = {
  readonly id: string;
  readonly url: URL;
  readonly status: string;
  readonly enabled_events: readonly string[];
  /** The event, or a notification without its content. */
  readonly payload: 'snapshot' | 'thin';
  /** The API version of its events; `null`: the account's default version, or none. */
  readonly apiVersion: string | null;
};

/** Parses a webhook endpoint from Stripe's list; `null` when its shape is unknown. */
export function readWebhookEndpoint(listed: Json): WebhookEndpoint | null {
  const parsed = v.safeParse(endpointShape, listed);
  if (!parsed.success) return null;
  const { api_version: apiVersion, ...endpoint } = parsed.output;
  return { ...endpoint, payload: 'snapshot', apiVersion };
}

/**
 * Parses an event destination from Stripe's list; `null` when its shape is unknown, and an empty list when it
 * is not a webhook endpoint.
 */
export function readEventDestination(listed: Json): readonly WebhookEndpoint[] | null {
  if (v.is(elsewhereShape, listed)) return [];
  const parsed = v.safeParse(destinationShape, listed);
  if (!parsed.success) return null;
  const { event_payload: payload, snapshot_api_version: apiVersion, ...rest } = parsed.output;
  return [{ ...rest, url: rest.webhook_endpoint.url, payload, apiVersion }];
}

/** Checks the endpoint with the given URL, or all whose path is that of the webhook route. */
export function checkWebhookEndpoints(
  endpoints: readonly WebhookEndpoint[],
  expected: Expected,
): Check[] {
  const { url } = expected;
  const ours = endpoints.filter((endpoint) =>
    url === null ? PATH.test(endpoint.url.pathname) : endpoint.url.href === url.href,
  );
  if (ours.length === 0) return [noneFound(endpoints, expected)];
  const enabled = ours.filter(isEnabled).map((endpoint) => endpoint.url.href);
  const checks = ours.flatMap(checkEndpoint);
  if (new Set(enabled).size === enabled.length) return checks;
  const result =
    'one URL is registered more than once: Stripe delivers every event to it more than once';
  return [
    ...checks,
    warning(NAME, result, `delete all of its registrations but one (${DASHBOARD})`),
  ];
}

function noneFound(endpoints: readonly WebhookEndpoint[], { url, mode }: Expected): Check {
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

const isEnabled = ({ status }: WebhookEndpoint) => status === 'enabled';

function checkEndpoint(endpoint: WebhookEndpoint): Check[] {
  const { enabled_events: types, payload, apiVersion } = endpoint;
  /** The names of the two types with this payload. */
  const needed: readonly string[] = payload === 'snapshot' ? HANDLED_TYPES : NOTIFICATION_TYPES;
  const hasAll = types.includes('*');
  const missing = hasAll ? [] : needed.filter((type) => !types.includes(type));
  const others = types.filter((type) => !needed.includes(type)).length;
  const at = shown(endpoint.url);
  const checks: Check[] = [];
  if (!isEnabled(endpoint)) {
    const result = `${at} is disabled: Stripe sends no events to it`;
    const advice = `enable it (${DASHBOARD}); Instep then catches up on the missed events`;
    checks.push(failure(NAME, result, advice));
  }
  if (PATH.exec(endpoint.url.pathname)?.groups?.slash) {
    const result = `${at} ends with a slash: the response to every event is 404`;
    checks.push(failure(NAME, result, `remove the slash (${DASHBOARD})`));
  }
  if (missing.length > 0) {
    const which = missing.length === 1 ? 'this type' : 'both types';
    const result = `${at} does not receive ${missing.join(' and ')}`;
    checks.push(failure(NAME, result, `add ${which} (${DASHBOARD})`));
  }
  if (others > 0) {
    const ignored = hasAll
      ? 'all types, and Instep ignores all but two'
      : `${counted(others, 'other type')}, which Instep ignores`;
    const advice = `leave only ${needed.join(' and ')} (${DASHBOARD})`;
    checks.push(warning(NAME, `${at} receives events of ${ignored}`, advice));
  }
  if (apiVersion !== null && !isKnownVersion(apiVersion)) {
    const result = `${at} has the API version ${JSON.stringify(apiVersion)}, newer than ${NEWEST_KNOWN_VERSION}, the newest that this version of Instep knows`;
    checks.push(
      warning(NAME, result, 'upgrade Instep, and watch for unreadable events until then'),
    );
  }
  if (checks.length > 0) return checks;
  const version =
    apiVersion === null ? ", the account's API version" : `, API version ${apiVersion}`;
  const kind = `${payload} payload${payload === 'snapshot' ? version : ''}`;
  return [ok(NAME, `${at} is enabled for the two types, ${kind}`)];
}

/** Without user, password and query, which can hold secrets. */
function shown({ origin, pathname, search }: URL): string {
  return `${origin}${pathname}${search === '' ? '' : '?…'}`;
}
