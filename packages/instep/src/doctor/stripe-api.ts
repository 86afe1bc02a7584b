// The checks that ask Stripe: the key's permissions and the webhook endpoints. examine.ts calls them.

import { counted, DeadlineExceeded } from 'instep-engine/runtime';
import {
  createGet,
  type Get,
  getPage,
  HANDLED_TYPES,
  type Mode,
  NOTIFICATION_TYPES,
  StripeApiFailed,
  type StripeApiOptions,
  type StripePage,
  TYPES_QUERY,
} from 'instep-engine/stripe';
import * as v from 'valibot';
import { type Check, failure, ok, warning } from './check.ts';
import { checkAddress, shown } from './webhook-address.ts';

/** What the key needs permission to read, and the cost without it: a failure if Instep can't do without. */
const RESOURCES = {
  events: {
    path: '/v1/events',
    query: [['limit', '1'], ...TYPES_QUERY],
    cost: ['failure', "missed events can't be found"],
  },
  subscriptions: {
    path: '/v1/subscriptions',
    query: [
      ['limit', '1'],
      ['status', 'all'],
    ],
    cost: [
      'failure',
      "an ambiguous order of events can't be resolved, and nothing can be reconciled",
    ],
  },
  products: {
    path: '/v1/products',
    query: [['limit', '1']],
    cost: ['failure', 'plans have no name'],
  },
  customers: {
    path: '/v1/customers',
    query: [['limit', '1']],
    cost: ['warning', "`instep reconcile` can't recognize customers that Stripe doesn't know"],
  },
  'webhook endpoints': {
    path: '/v1/webhook_endpoints',
    // An account can't have more.
    query: [['limit', '100']],
    cost: ['warning', "this command can't check them, and nothing else reads them"],
  },
  'event destinations': {
    path: '/v2/core/event_destinations',
    query: [
      ['limit', '100'],
      ['include[0]', 'webhook_endpoint.url'],
    ],
    cost: ['warning', "this command can't check those with a thin payload"],
  },
} as const;

type Resource = keyof typeof RESOURCES;

/** Short, because an operator is waiting. */
const TIMEOUT_MS = 5_000;

type Answer =
  | { kind: 'granted'; page: StripePage }
  /** The key is unknown (401) or lacks the permission (403), or the API lacks the resource (404). */
  | { kind: 'refused'; status: 401 | 403 | 404 }
  | { kind: 'failed'; reason: string };

type Answers = ReadonlyMap<Resource, Answer>;

type CheckOptions = {
  api: StripeApiOptions;
  expected: Expected;
};

/**
 * Runs all checks that need Stripe's API. No other check depends on them, because the API can be unreachable.
 */
export async function checkStripeApi({ api, expected }: CheckOptions): Promise<Check[]> {
  const answers = await askAll(api);
  return [...checkAccess(answers), ...(await checkEndpoints(answers, expected))];
}

/** If the first call gets no response, the others are left out, because they would not get one either. */
async function askAll(api: StripeApiOptions): Promise<Answers> {
  const get = createGet(api);
  const answers = new Map([['events' as Resource, await ask('events', get)]]);
  if (answers.get('events')?.kind === 'failed') return answers;
  const others = Object.keys(RESOURCES).filter((name) => name !== 'events') as Resource[];
  const asked = others.map(async (one) => [one, await ask(one, get)] as const);
  return new Map([...answers, ...(await Promise.all(asked))]);
}

/** Why the key can't read these kinds of objects, and what to do; `null` if it can, or if Stripe does not answer. */
export async function whyUnreadable(
  get: Get,
  ...resources: readonly Resource[]
): Promise<string | null> {
  const answers = await Promise.all(resources.map((one) => ask(one, get)));
  const statuses = answers.map((answer) => (answer.kind === 'refused' ? answer.status : null));
  if (statuses.includes(401)) return `${REJECTED}: ${SET_KEY}`;
  const lacking = resources.filter((_, index) => statuses[index] === 403);
  if (lacking.length === 0) return null;
  return `lacks permission to read ${lacking.join(' and ')}: ${GRANT}`;
}

async function ask(resource: Resource, get: Get): Promise<Answer> {
  const { path, query } = RESOURCES[resource];
  try {
    return { kind: 'granted', page: await getPage(get, { path, query, timeoutMs: TIMEOUT_MS }) };
  } catch (error) {
    if (error instanceof DeadlineExceeded) return { kind: 'failed', reason: error.message };
    if (!(error instanceof StripeApiFailed)) throw error;
    const { status, message } = error;
    if (status === 401 || status === 403 || status === 404) return { kind: 'refused', status };
    return { kind: 'failed', reason: message };
  }
}

const NAME = "Stripe's API";

const DASHBOARD = 'Stripe dashboard, Developers, API keys';
const REJECTED = 'was mistyped, rolled or revoked';
const SET_KEY = `set STRIPE_SECRET_KEY to a current key of your account (${DASHBOARD})`;
const GRANT = `grant it (${DASHBOARD}, the key, Edit)`;

function checkAccess(answers: Answers): Check[] {
  const all = [...answers];
  if (all.some(([, answer]) => answer.kind === 'refused' && answer.status === 401)) {
    return [failure(NAME, `rejects the key: it ${REJECTED}`, SET_KEY)];
  }
  const readable = all.flatMap(([resource, { kind }]) => (kind === 'granted' ? resource : []));
  return [
    ...(readable.length === 0
      ? []
      : [ok(NAME, `answers; the key has permission to read ${readable.join(', ')}`)]),
    ...all.flatMap(([resource, answer]): Check[] => {
      if (answer.kind === 'granted') return [];
      if (answer.kind === 'failed') return [unreachable(resource, answer.reason)];
      if (answer.status === 404) {
        const advice = "check STRIPE_API_BASE: Stripe's own API has them";
        return [warning(NAME, `has no ${resource} (404)`, advice)];
      }
      const [state, cost] = RESOURCES[resource].cost;
      const result = `the key lacks permission to read ${resource}: ${cost}`;
      return [{ name: NAME, state, result, advice: GRANT }];
    }),
  ];
}

function unreachable(resource: Resource, reason: string): Check {
  return warning(
    NAME,
    `did not return ${resource}: ${reason}`,
    'check the network, proxies and firewalls (api.stripe.com, port 443), and status.stripe.com',
  );
}

async function checkEndpoints(answers: Answers, expected: Expected): Promise<Check[]> {
  const listed = answers.get('webhook endpoints');
  const destinations = objectsOf(answers.get('event destinations'));
  const read = [
    ...objectsOf(listed).map((one) => v.safeParse(listedEndpoint, one)),
    ...destinations
      .filter((one) => !v.is(elsewhereShape, one))
      .map((one) => v.safeParse(listedDestination, one)),
  ];
  const readable = read.flatMap(({ success, output }) => (success ? output : []));
  // Both lists can have those with snapshot payload.
  const endpoints = [...new Map(readable.map((one) => [one.id, one])).values()];
  const isKnown = listed?.kind === 'granted' || endpoints.length > 0;
  const checks = isKnown ? await checkWebhookEndpoints(endpoints, expected) : [];
  const unreadable = read.length - readable.length;
  if (unreadable === 0) return checks;
  return [...checks, warning(ENDPOINT, `${unreadable} could not be read`, 'upgrade Instep')];
}

function objectsOf(answer: Answer | undefined): StripePage['objects'] {
  return answer?.kind === 'granted' ? answer.page.objects : [];
}

const ENDPOINT = 'webhook endpoint';

/** Where Instep listens for events, after the prefix of an app. An app can require the slash. */
const PATH = /\/api\/stripe\/webhook\/?$/;

const WEBHOOKS = 'Stripe dashboard, Developers, Webhooks';
const TYPES = HANDLED_TYPES.join(' and ');
const REGISTER = `register https://…/api/stripe/webhook for ${TYPES} (${WEBHOOKS})`;

type Expected = {
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

/** Stripe's names for the events of the account itself. */
const OWN_EVENTS = ['self', '@self'];

const common = { id: v.string(), status: v.string(), enabled_events: v.array(v.string()) };

/** A webhook endpoint in Stripe's list. */
const listedEndpoint = v.pipe(
  v.object({ ...common, url, api_version: v.nullish(v.string(), null) }),
  v.transform(({ id, status, url, enabled_events: types, api_version: apiVersion }) => {
    return {
      id,
      status,
      url,
      types,
      apiVersion,
      eventsFrom: OWN_EVENTS,
      payload: 'snapshot' as const,
    };
  }),
);

/** A webhook endpoint in Stripe's list of event destinations. */
const listedDestination = v.pipe(
  v.object({
    ...common,
    event_payload: v.picklist(['snapshot', 'thin']),
    events_from: v.optional(v.array(v.string()), OWN_EVENTS),
    snapshot_api_version: v.nullish(v.string(), null),
    webhook_endpoint: v.object({ url }),
  }),
  v.transform(({ id, status, enabled_events: types, webhook_endpoint: { url }, ...others }) => {
    const {
      event_payload: payload,
      snapshot_api_version: apiVersion,
      events_from: eventsFrom,
    } = others;
    return { id, status, url, types, apiVersion, eventsFrom, payload };
  }),
);

/** Destinations of other types, such as Amazon EventBridge. */
const elsewhereShape = v.object({ type: v.pipe(v.string(), v.notValue('webhook_endpoint')) });

/**
 * A registered destination of Stripe's events. A thin payload is a notification without the event's content, and has no
 * API version; else `null` is the account's default version.
 */
type WebhookEndpoint = v.InferOutput<typeof listedDestination>;

/** Checks the endpoint with the given URL, or all whose path is that of the webhook route. */
async function checkWebhookEndpoints(
  endpoints: readonly WebhookEndpoint[],
  expected: Expected,
): Promise<Check[]> {
  const ours = endpoints.filter((endpoint) => isExpected(endpoint, expected));
  if (ours.length === 0) return [noneFound(endpoints, expected)];
  const enabled = ours.filter(isEnabled).map((endpoint) => endpoint.url.href);
  const checks = (await Promise.all(ours.map(checkEndpoint))).flat();
  if (new Set(enabled).size === enabled.length) return checks;
  const result =
    'one URL is registered more than once: Stripe delivers every event to it more than once';
  return [
    ...checks,
    warning(ENDPOINT, result, `delete all of its registrations but one (${WEBHOOKS})`),
  ];
}

/** A query can be a secret, so it can be left out. */
function isExpected(
  { url: { href, origin, pathname, search } }: WebhookEndpoint,
  { url }: Expected,
) {
  if (url === null) return PATH.test(pathname);
  return (
    href === url.href ||
    (url.search === '' &&
      search !== '' &&
      `${origin}${pathname}` === `${url.origin}${url.pathname}`)
  );
}

function noneFound(endpoints: readonly WebhookEndpoint[], { url, mode }: Expected): Check {
  const wanted = url === null ? 'ends with /api/stripe/webhook' : `is ${shown(url)}`;
  const known = endpoints.map((endpoint) => shown(endpoint.url)).join(', ') || 'none';
  const where = mode === null ? '' : ` in ${mode} mode`;
  const result = `no registered URL${where} ${wanted}; registered: ${known}`;
  if (url !== null) return failure(ENDPOINT, result, REGISTER);
  // Without --url, another path can also lead to Instep.
  if (endpoints.length > 0)
    return warning(ENDPOINT, result, `name yours with --url, or ${REGISTER}`);
  if (mode === 'live') return failure(ENDPOINT, result, REGISTER);
  return warning(ENDPOINT, result, `${REGISTER}, unless \`stripe listen\` forwards the events`);
}

const isEnabled = ({ status }: WebhookEndpoint) => status === 'enabled';

async function checkEndpoint(endpoint: WebhookEndpoint): Promise<Check[]> {
  const { types, payload, apiVersion, eventsFrom } = endpoint;
  /** The names of the two types with this payload. */
  const needed: readonly string[] = payload === 'snapshot' ? HANDLED_TYPES : NOTIFICATION_TYPES;
  const hasAll = types.includes('*');
  const missing = hasAll ? [] : needed.filter((type) => !types.includes(type));
  const others = types.filter((type) => !needed.includes(type)).length;
  const at = shown(endpoint.url);
  const checks: Check[] = [];
  if (!isEnabled(endpoint)) {
    const result = `${at} is disabled: Stripe sends no events to it`;
    const advice = `enable it (${WEBHOOKS}); Instep then catches up on the missed events`;
    checks.push(failure(ENDPOINT, result, advice));
  }
  if (!OWN_EVENTS.some((one) => eventsFrom.includes(one))) {
    const result = `${at} receives only the events of other accounts (${eventsFrom.join(', ')})`;
    checks.push(failure(ENDPOINT, result, `let it receive those of your account (${WEBHOOKS})`));
  }
  if (missing.length > 0) {
    const which = missing.length === 1 ? 'this type' : 'both types';
    const result = `${at} does not receive ${missing.join(' and ')}`;
    checks.push(failure(ENDPOINT, result, `add ${which} (${WEBHOOKS})`));
  }
  if (others > 0) {
    const ignored = hasAll
      ? 'all types, and Instep ignores all but two'
      : `${counted(others, 'other type')}, which Instep ignores`;
    const advice = `leave only ${needed.join(' and ')} (${WEBHOOKS})`;
    checks.push(warning(ENDPOINT, `${at} receives events of ${ignored}`, advice));
  }
  if (isEnabled(endpoint)) checks.push(...(await checkAddress(endpoint.url)));
  if (checks.length > 0) return checks;
  const version =
    apiVersion === null ? ", the account's API version" : `, API version ${apiVersion}`;
  const kind = `${payload} payload${payload === 'snapshot' ? version : ''}`;
  return [ok(ENDPOINT, `${at} is enabled for the two types, ${kind}`)];
}
