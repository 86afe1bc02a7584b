import * as v from 'valibot';
import { DeadlineExceeded } from '../runtime/deadline.ts';
import { getPage, type StripePage, TYPES_QUERY } from '../stripe/api.ts';
import { createGet, type Get, type StripeApiOptions } from '../stripe/api-call.ts';
import { StripeApiFailed } from '../stripe/api-failure.ts';
import { type Check, failure, ok, warning } from './check.ts';
import { type ClockReading, checkClock } from './clock.ts';
import {
  checkWebhookEndpoints,
  type Expected,
  readEventDestination,
  readWebhookEndpoint,
} from './webhook-endpoints.ts';

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
  | { kind: 'granted'; page: StripePage; clock: ClockReading | null }
  /** The key is unknown (401) or lacks the permission (403), or the API lacks the resource (404). */
  | { kind: 'refused'; status: 401 | 403 | 404 }
  | { kind: 'failed'; reason: string };

type Answers = ReadonlyMap<Resource, Answer>;

type CheckOptions = {
  api: StripeApiOptions;
  expected: Expected;
  now: () => number;
};

type StripeApiChecks = {
  checks: readonly Check[];
  /** When the newest event of the two types was created, in seconds since 1970; `null`: unknown. */
  newestEventSeconds: number | null;
  clock: ClockReading | null;
};

/**
 * Runs all checks that need Stripe's API. No other check depends on them, because the API can be unreachable.
 */
export async function checkStripeApi(options: CheckOptions): Promise<StripeApiChecks> {
  const answers = await askAll(options);
  const [clock = null] = [...answers.values()].flatMap((one) =>
    one.kind === 'granted' ? (one.clock ?? []) : [],
  );
  return {
    checks: [
      ...checkAccess(answers),
      checkClock(clock),
      ...checkEndpoints(answers, options.expected),
    ],
    newestEventSeconds: newestEventOf(answers.get('events')),
    clock,
  };
}

/** If the first call gets no response, the others are left out, because they would not get one either. */
async function askAll({ api, now }: CheckOptions): Promise<Answers> {
  const get = createGet(api);
  const answers = new Map([['events' as Resource, await ask('events', get, now)]]);
  if (answers.get('events')?.kind === 'failed') return answers;
  const others = Object.keys(RESOURCES).filter((name) => name !== 'events') as Resource[];
  const asked = others.map(async (one) => [one, await ask(one, get, now)] as const);
  return new Map([...answers, ...(await Promise.all(asked))]);
}

async function ask(resource: Resource, get: Get, now: () => number): Promise<Answer> {
  const sentAtMs = now();
  const { path, query } = RESOURCES[resource];
  try {
    const page = await getPage(get, { path, query, timeoutMs: TIMEOUT_MS });
    const { answeredSeconds } = page;
    const receivedAtMs = now();
    const clock =
      answeredSeconds === null
        ? null
        : { sentAtMs, receivedAtMs, answeredAtMs: answeredSeconds * 1_000 };
    return { kind: 'granted', page, clock };
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

function checkAccess(answers: Answers): Check[] {
  const all = [...answers];
  if (all.some(([, answer]) => answer.kind === 'refused' && answer.status === 401)) {
    const advice = `set STRIPE_SECRET_KEY to a current key of your account (${DASHBOARD})`;
    return [failure(NAME, 'rejects the key: it was mistyped, rolled or revoked', advice)];
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
      return [{ name: NAME, state, result, advice: `grant it (${DASHBOARD}, the key, Edit)` }];
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

function checkEndpoints(answers: Answers, expected: Expected): Check[] {
  const isListed = answers.get('webhook endpoints')?.kind === 'granted';
  const read = objectsOf(answers.get('webhook endpoints')).map(readWebhookEndpoint);
  const listed = read.filter((endpoint) => endpoint !== null);
  const destinations = objectsOf(answers.get('event destinations')).map(readEventDestination);
  // Both lists can have those with snapshot payload.
  const more = destinations
    .flatMap((destination) => destination ?? [])
    .filter(({ id }) => !listed.some((endpoint) => endpoint.id === id));
  const unreadable = [...read, ...destinations].filter((one) => one === null).length;
  const endpoints = [...listed, ...more];
  const checks = isListed || more.length > 0 ? checkWebhookEndpoints(endpoints, expected) : [];
  if (unreadable === 0) return checks;
  return [
    ...checks,
    warning('webhook endpoint', `${unreadable} could not be read`, 'upgrade Instep'),
  ];
}

function objectsOf(answer: Answer | undefined): StripePage['objects'] {
  return answer?.kind === 'granted' ? answer.page.objects : [];
}

const createdShape = v.object({ created: v.pipe(v.number(), v.integer()) });

function newestEventOf(answer: Answer | undefined): number | null {
  const newest = answer?.kind === 'granted' ? answer.page.objects[0] : null;
  return v.is(createdShape, newest) ? newest.created : null;
}
