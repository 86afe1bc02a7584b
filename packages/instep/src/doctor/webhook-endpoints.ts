import { counted } from '../runtime/amounts.ts';
import { isKnownVersion, NEWEST_KNOWN_VERSION } from '../stripe/api-call.ts';
import { TYPES_BY_PAYLOAD, type WebhookEndpoint } from '../stripe/inspection.ts';
import type { Mode } from '../stripe/key-kind.ts';
import { HANDLED_TYPES } from '../stripe/parse-event.ts';
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
  const enabled = ours.filter(({ isEnabled }) => isEnabled).map((endpoint) => endpoint.url.href);
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

function checkEndpoint(endpoint: WebhookEndpoint): Check[] {
  const { isEnabled, missingTypes, otherTypes, payload, apiVersion } = endpoint;
  const at = shown(endpoint.url);
  const checks: Check[] = [];
  if (!isEnabled) {
    const result = `${at} is disabled: Stripe sends no events to it`;
    const advice = `enable it (${DASHBOARD}); Instep then catches up on the missed events`;
    checks.push(failure(NAME, result, advice));
  }
  if (PATH.exec(endpoint.url.pathname)?.groups?.slash) {
    const result = `${at} ends with a slash: the response to every event is 404`;
    checks.push(failure(NAME, result, `remove the slash (${DASHBOARD})`));
  }
  if (missingTypes.length > 0) {
    const result = `${at} does not receive ${missingTypes.join(' and ')}`;
    checks.push(
      failure(
        NAME,
        result,
        `add ${missingTypes.length === 1 ? 'this type' : 'both types'} (${DASHBOARD})`,
      ),
    );
  }
  if (otherTypes > 0) {
    const ignored = Number.isFinite(otherTypes)
      ? `${counted(otherTypes, 'other type')}, which Instep ignores`
      : 'all types, and Instep ignores all but two';
    const result = `${at} receives events of ${ignored}`;
    checks.push(
      warning(NAME, result, `leave only ${TYPES_BY_PAYLOAD[payload].join(' and ')} (${DASHBOARD})`),
    );
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
