// The checks that ask Stripe: what the key has permission to read. examine.ts calls them.

import { ReconciliationFailed } from 'instep-engine/repair';
import { DeadlineExceeded } from 'instep-engine/runtime';
import {
  createGet,
  type Get,
  getPage,
  StripeApiFailed,
  type StripeApiOptions,
  type StripePage,
  TYPES_QUERY,
} from 'instep-engine/stripe';
import { type Check, failure, ok, warning } from './check.ts';
import { checkEndpoints, type Expected } from './webhook-endpoints.ts';

/** What the key needs permission to read, and the cost without it: a failure if Instep can't do without. */
const RESOURCES = [
  {
    name: 'events',
    path: '/v1/events',
    query: [['limit', '1'], ...TYPES_QUERY],
    cost: ['failure', "missed events can't be found"],
  },
  {
    name: 'subscriptions',
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
  {
    name: 'products',
    path: '/v1/products',
    query: [['limit', '1']],
    cost: ['failure', 'plans have no name'],
  },
  {
    name: 'customers',
    path: '/v1/customers',
    query: [['limit', '1']],
    cost: ['warning', "`instep reconcile` can't recognize customers that Stripe doesn't know"],
  },
  {
    name: 'webhook endpoints',
    path: '/v1/webhook_endpoints',
    // An account can't have more.
    query: [['limit', '100']],
    cost: ['warning', "this command can't check them, and nothing else reads them"],
  },
  {
    name: 'event destinations',
    path: '/v2/core/event_destinations',
    query: [
      ['limit', '100'],
      ['include[0]', 'webhook_endpoint.url'],
    ],
    cost: ['warning', "this command can't check those with a thin payload"],
  },
] as const;

type Resource = (typeof RESOURCES)[number];

/** Short, because an operator is waiting. */
const TIMEOUT_MS = 5_000;

type Answer =
  | { readonly kind: 'granted'; readonly page: StripePage }
  /** The key is unknown (401), or lacks the permission (403). */
  | { readonly kind: 'refused'; readonly status: 401 | 403 }
  | { readonly kind: 'failed'; readonly reason: string };

async function ask(get: Get, { path, query }: Resource): Promise<Answer> {
  try {
    return { kind: 'granted', page: await getPage(get, { path, query, timeoutMs: TIMEOUT_MS }) };
  } catch (error) {
    if (!(error instanceof StripeApiFailed || error instanceof DeadlineExceeded)) throw error;
    const status = error instanceof StripeApiFailed ? error.status : null;
    if (status === 401 || status === 403) return { kind: 'refused', status };
    return { kind: 'failed', reason: error.message };
  }
}

const askAll = (get: Get, resources: readonly Resource[]) =>
  Promise.all(resources.map(async (one) => [one, await ask(get, one)] as const));

const NAME = "Stripe's API";
const DASHBOARD = 'Stripe dashboard, Developers, API keys';
const REJECTED = 'was mistyped, rolled or revoked';
const SET_KEY = `set STRIPE_SECRET_KEY to a current key of your account (${DASHBOARD})`;
const GRANT = `grant it (${DASHBOARD}, the key, Edit)`;

/** @throws ReconciliationFailed if the key can't read these kinds of objects, but not if Stripe does not answer */
export async function requireReadable(
  get: Get,
  ...names: readonly Resource['name'][]
): Promise<void> {
  const answers = await askAll(
    get,
    RESOURCES.filter(({ name }) => names.includes(name)),
  );
  const refusedWith = (code: number) =>
    answers.flatMap(([{ name }, one]) =>
      one.kind === 'refused' && one.status === code ? name : [],
    );
  const lacking = refusedWith(403).join(' and ');
  let problem: string | null = lacking && `lacks permission to read ${lacking}: ${GRANT}`;
  if (refusedWith(401).length > 0) problem = `${REJECTED}: ${SET_KEY}`;
  if (problem)
    throw new ReconciliationFailed('STRIPE_KEY_FORBIDDEN', `STRIPE_SECRET_KEY ${problem}`);
}

type CheckOptions = { readonly api: StripeApiOptions; readonly expected: Expected };

/** Runs all checks that need Stripe's API. No other check depends on them, because the API can be unreachable. */
export async function checkStripeApi({ api, expected }: CheckOptions): Promise<Check[]> {
  const answers = await askAll(createGet(api), RESOURCES);
  if (answers.some(([, one]) => one.kind === 'refused' && one.status === 401)) {
    return [failure(NAME, `rejects the key: it ${REJECTED}`, SET_KEY)];
  }
  const granted = answers.flatMap(([{ name }, one]) => (one.kind === 'granted' ? name : []));
  const failed = answers.flatMap(([{ name }, one]) => (one.kind === 'failed' ? name : []));
  const reasons = answers.flatMap(([, one]) => (one.kind === 'failed' ? one.reason : []));
  const checks: Check[] = [];
  if (granted.length > 0) {
    checks.push(ok(NAME, `answers; the key has permission to read ${granted.join(', ')}`));
  }
  if (failed.length > 0) {
    const result = `did not return ${failed.join(', ')}: ${reasons[0]}`;
    const advice =
      'check the network, proxies and firewalls (api.stripe.com, port 443), and status.stripe.com';
    checks.push(warning(NAME, result, advice));
  }
  for (const [{ name, cost }, { kind }] of answers) {
    if (kind !== 'refused') continue;
    const [state, text] = cost;
    const result = `the key lacks permission to read ${name}: ${text}`;
    checks.push({ name: NAME, state, result, advice: GRANT });
  }
  const listed = answers.flatMap(([{ name }, one]) =>
    one.kind === 'granted' && (name === 'webhook endpoints' || name === 'event destinations')
      ? one.page.objects
      : [],
  );
  const isKnown = granted.includes('webhook endpoints') || listed.length > 0;
  return isKnown ? [...checks, ...checkEndpoints(listed, expected)] : checks;
}
