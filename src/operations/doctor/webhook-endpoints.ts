import { HANDLED_TYPES } from '../../stripe/handled-event-type.ts';
import type { Mode } from '../../stripe/key-kind.ts';
import {
  isKnownVersion,
  NEWEST_KNOWN_VERSION,
  type WebhookEndpoint,
} from '../../stripe/webhook-endpoint.ts';
import { type Check, failure, ok, warning } from './check.ts';

const NAME = 'webhook endpoint';

/** Where the server listens for events (contract, section 4). */
const PATH = /\/api\/stripe\/webhook\/?$/;

const DASHBOARD = 'Stripe dashboard, Developers, Webhooks';
const REGISTER = `register https://…/api/stripe/webhook for ${HANDLED_TYPES.join(' and ')} (${DASHBOARD})`;

export type Expected = {
  /** Where Instep hears events; `null` when nobody said. */
  readonly url: URL | null;
  /** The mode of the key: it shows the endpoints of its own mode only. */
  readonly mode: Mode | null;
};

/**
 * Whether Stripe sends the two types to where Instep hears them: to the URL if one is given, else to
 * all that look like it.
 */
export function checkWebhookEndpoints(
  endpoints: readonly WebhookEndpoint[],
  expected: Expected,
): Check[] {
  const { url } = expected;
  const ours = endpoints.filter((endpoint) =>
    url === null ? PATH.test(endpoint.url.pathname) : endpoint.url.href === url.href,
  );
  if (ours.length === 0) return [noneFound(endpoints, expected)];
  const enabled = ours.filter(({ isEnabled }) => isEnabled);
  const isTwice = new Set(enabled.map((endpoint) => endpoint.url.href)).size < enabled.length;
  return [
    ...ours.flatMap(checkEndpoint),
    ...(isTwice
      ? [warning(NAME, 'a URL is registered more than once: events come as often', 'delete one')]
      : []),
  ];
}

function noneFound(endpoints: readonly WebhookEndpoint[], { url, mode }: Expected): Check {
  const what = url === null ? 'that ends with /api/stripe/webhook' : `for ${shown(url)}`;
  const known = endpoints.map((endpoint) => shown(endpoint.url)).join(', ') || 'none';
  const says = `none ${what}${mode === null ? '' : ` in ${mode} mode`}; registered: ${known}`;
  if (url !== null) return failure(NAME, says, REGISTER);
  // Without a URL nobody can say that another path does not lead to Instep.
  if (endpoints.length > 0) {
    return warning(NAME, says, `say which it is with --url, or ${REGISTER}`);
  }
  if (mode === 'live') return failure(NAME, says, REGISTER);
  return warning(NAME, says, `${REGISTER}, unless \`stripe listen\` forwards them`);
}

function checkEndpoint(endpoint: WebhookEndpoint): Check[] {
  const { isEnabled, missingTypes, otherTypes, apiVersion } = endpoint;
  const at = shown(endpoint.url);
  const checks: Check[] = [];
  if (!isEnabled) {
    const whatToDo = `enable it (${DASHBOARD}); what happened meanwhile is caught up with`;
    checks.push(failure(NAME, `${at} is disabled: Stripe sends it nothing`, whatToDo));
  }
  if (missingTypes.length > 0) {
    const says = `${at} does not get ${missingTypes.join(' and ')}`;
    checks.push(failure(NAME, says, `add what is missing (${DASHBOARD})`));
  }
  if (otherTypes > 0) {
    const count = Number.isFinite(otherTypes)
      ? `${otherTypes} other type(s)`
      : 'events of all types';
    const whatToDo = `leave only ${HANDLED_TYPES.join(' and ')} (${DASHBOARD})`;
    checks.push(warning(NAME, `${at} gets ${count}, for nothing`, whatToDo));
  }
  if (apiVersion !== null && !isKnownVersion(apiVersion)) {
    const says = `${at} has API version ${JSON.stringify(apiVersion)}, which this Instep does not know (newest: ${NEWEST_KNOWN_VERSION})`;
    checks.push(warning(NAME, says, 'upgrade Instep, and look for unreadable events meanwhile'));
  }
  if (checks.length > 0) return checks;
  const version = apiVersion ?? "the account's";
  return [ok(NAME, `${at} is enabled for the two types, API version ${version}`)];
}

/** Without its user, password and query, which may hold secrets. */
function shown({ origin, pathname, search }: URL): string {
  return `${origin}${pathname}${search === '' ? '' : '?…'}`;
}
