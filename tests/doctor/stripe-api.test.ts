import type { ApiObject } from 'instep/testing';
import { describe, expect, test } from 'vitest';
import { createMigratedDatabase } from '../support/postgres/test-database.ts';
import {
  ENDPOINT,
  endpointWith,
  issuesOf,
  openExaminedAccount,
} from '../support/stripe/examined-account.ts';

// These tests write nothing into it.
const databaseUrl = await createMigratedDatabase();
const openAccount = () => openExaminedAccount(databaseUrl);

/** The doctor's results about Stripe. */
async function examineStripe(
  account: Awaited<ReturnType<typeof openExaminedAccount>>,
  more: Readonly<Record<string, string>> = {},
  url?: string,
) {
  const ended = await account.examine(more, url);
  const isOfLog = /^\w+ (?:last event|events' mode)/;
  return { ...ended, issues: issuesOf(ended).filter((issue) => !isOfLog.test(issue)) };
}

describe('the API', () => {
  test.each([
    ['events', 'failure', /missed events/],
    ['subscriptions', 'failure', /ambiguous/],
    ['products', 'failure', /name/],
    ['customers', 'warning', /reconcile/],
    ['webhook_endpoints', 'warning', /can't check/],
    ['event_destinations', 'warning', /thin payload/],
  ])(
    'a key without permission to read %s is a %s that names its cost',
    async (resource, state, lost) => {
      const account = await openAccount();
      const isOf = (path: string) => path.split(/[/?]/).includes(resource);
      account.fault = (path) => (isOf(path) ? { status: 403 } : undefined);
      const { hasFailure, issues, checks } = await examineStripe(account);
      expect(issues).toEqual([expect.stringMatching(lost)]);
      expect(issues[0]).toContain(
        `${state} Stripe's API: the key lacks permission to read ${resource.replace('_', ' ')}: `,
      );
      expect(hasFailure).toBe(state === 'failure');
      expect(checks.find(({ name }) => name === "Stripe's API")?.result).toMatch(
        /^answers; .* read /,
      );
    },
  );

  test('a key that Stripe does not know is one failure', async () => {
    const account = await openAccount();
    account.fault = () => ({ status: 401 });
    const { hasFailure, issues } = await examineStripe(account);
    expect(hasFailure).toBe(true);
    expect(issues).toEqual([expect.stringMatching(/^failure Stripe's API: rejects the key/)]);
  });

  test.each([
    ['can’t be reached', { STRIPE_API_BASE: 'http://127.0.0.1:1' }, 0, undefined],
    ['is slow', {}, 60_000, undefined],
    ['is down', {}, 0, { status: 503 }],
    ['limits our rate', {}, 0, { status: 429 }],
  ])('one that %s is a warning, and the other checks run', async (_, more, delayMs, fault) => {
    const account = await openAccount();
    account.delayMs = delayMs;
    account.fault = () => fault;
    const { hasFailure, issues, checks } = await examineStripe(account, more);
    expect(issues).toEqual([
      expect.stringMatching(/^warning Stripe's API: did not return events, /),
    ]);
    expect(hasFailure).toBe(false);
    expect(checks.map(({ name }) => name)).toContain('schema');
  });
});

describe('webhook endpoints', () => {
  test.each([
    ['that is disabled', { status: 'disabled' }, /^failure .* is disabled/],
    [
      'without a type',
      { enabled_events: ['customer.subscription.updated'] },
      /^failure .* does not receive customer\.subscription\.deleted$/,
    ],
    [
      'with other types',
      { enabled_events: [...ENDPOINT.enabled_events, 'invoice.paid'] },
      /^warning .* receives events of other types,/,
    ],
    ['with all types', { enabled_events: ['*'] }, /^warning .* receives events of other types,/],
  ])('one %s', async (_, otherwise, issue) => {
    const account = await openAccount();
    account.webhookEndpoints.set(endpointWith(otherwise));
    const { issues } = await examineStripe(account);
    expect(issues.at(-1)).toMatch(issue);
    expect(issues.at(-1)).toMatch(/^\w+ webhook endpoint: /);
  });

  test.each(['/api/stripe/webhook/', '/app/api/stripe/webhook'])(
    'one at %s is right',
    async (path) => {
      const account = await openAccount();
      account.webhookEndpoints.set(endpointWith({ url: `https://your.app${path}` }));
      expect((await examineStripe(account)).issues).toEqual([]);
    },
  );

  test.each([
    ['sk_test_canaryKey', 'warning'],
    ['sk_live_canaryKey', 'failure'],
  ])('none at all, with %s: %s', async (STRIPE_SECRET_KEY, state) => {
    const account = await openAccount();
    account.webhookEndpoints.delete('we_1');
    const { issues } = await examineStripe(account, { STRIPE_SECRET_KEY });
    expect(issues).toEqual([
      expect.stringMatching(`^${state} webhook endpoint: no registered URL .* registered: none$`),
    ]);
  });
});

describe('event destinations', () => {
  const THIN = {
    id: 'ed_1',
    object: 'v2.core.event_destination',
    type: 'webhook_endpoint',
    status: 'enabled',
    event_payload: 'thin',
    enabled_events: ['v1.customer.subscription.updated', 'v1.customer.subscription.deleted'],
    webhook_endpoint: { url: ENDPOINT.url },
  };

  /** The doctor's results about the endpoints when these are all destinations. */
  async function endpointsWith(...destinations: (ApiObject & Record<string, unknown>)[]) {
    const account = await openAccount();
    account.webhookEndpoints.delete('we_1');
    for (const destination of destinations) account.eventDestinations.set(destination);
    const { checks } = await examineStripe(account);
    return checks
      .filter(({ name }) => name === 'webhook endpoint')
      .map(({ state, result }) => `${state} ${result}`);
  }

  const { url } = ENDPOINT;

  test('one with thin payload is ok, and its kind is named', async () => {
    expect(await endpointsWith(THIN)).toEqual([
      `ok ${url} is enabled for the two types, thin payload`,
    ]);
  });

  test('one with snapshot payload is ok, and listed once', async () => {
    const snapshot = {
      ...THIN,
      event_payload: 'snapshot',
      enabled_events: ENDPOINT.enabled_events,
    };
    expect(await endpointsWith(snapshot)).toEqual([
      `ok ${url} is enabled for the two types, snapshot payload`,
    ]);
    const account = await openAccount();
    account.eventDestinations.set({ ...snapshot, id: 'we_1' });
    expect((await examineStripe(account)).issues).toEqual([]);
  });

  test.each([
    ['that is disabled', { status: 'disabled' }, /^failure .* is disabled/],
    [
      'with thin payload and the types of the other',
      { enabled_events: ENDPOINT.enabled_events },
      /^failure .* does not receive v1\.customer\.subscription\.updated and v1/,
    ],
    ['that leads to Amazon EventBridge', { webhook_endpoint: null }, /registered: none$/],
  ])('one %s', async (_, otherwise, result) => {
    const found = await endpointsWith({ ...THIN, ...otherwise });
    expect(found).toEqual(expect.arrayContaining([expect.stringMatching(result)]));
  });
});
