import { createHandler, createLogger } from 'instep';
import { describe, expect, test } from 'vitest';
import { issueSession } from '../support/internals/sessions.ts';
import { AUTH_SECRET } from '../support/secrets/test-secrets.ts';
import { eventBody } from '../support/stripe/events.ts';
import { issuesOf, openExaminedAccount } from '../support/stripe/examined-account.ts';

const HOUR_MS = 3_600_000;

/** An account with a team, for the customer of `eventBody`, about whom Stripe has answered. */
async function openAccount() {
  const account = await openExaminedAccount();
  await account.database.query(
    `insert into teams (name, provider_customer_id) values ('Acme', 'cus_1')`,
  );
  await account.database.query(
    `insert into instep.asked_customers (customer_id, first_asked_at, asked_at)
     values ('cus_1', now(), now())`,
  );
  return account;
}

type Account = Awaited<ReturnType<typeof openAccount>>;

const inMode = (livemode: boolean) => JSON.stringify({ ...JSON.parse(eventBody()), livemode });

describe('the last event', () => {
  test('is a warning when there is none, and else shows its age', async () => {
    const account = await openAccount();
    expect(issuesOf(await account.examine())).toEqual([
      'warning last event: none was ever delivered',
    ]);
    await account.deliver(eventBody(), Date.now() - 3 * HOUR_MS);
    const { checks } = await account.examine();
    expect(checks.find(({ name }) => name === 'last event')).toMatchObject({
      state: 'ok',
      result: '3 h ago',
    });
  });
});

describe('the mode of the events', () => {
  test.each([
    ['sk_test_canaryKey', false, []],
    ['rk_live_canaryKey', true, []],
    [
      'sk_live_canaryKey',
      false,
      [
        /^failure events in other mode: 1 of the last 1 event in test mode, but the API key is in live/,
      ],
    ],
    [
      'rk_test_canaryKey',
      true,
      [
        /^failure events in other mode: 1 of the last 1 event in live mode, but the API key is in test/,
      ],
    ],
  ])('with %s, livemode %s', async (STRIPE_SECRET_KEY, livemode, issues) => {
    const account = await openAccount();
    await account.deliver(inMode(livemode));
    const ended = await account.examine({ STRIPE_SECRET_KEY });
    expect(issuesOf(ended)).toEqual(issues.map((issue) => expect.stringMatching(issue)));
  });
});

describe('the session cookies', () => {
  const OTHER_SECRET = 'a secret of another app with 32 bytes or more';

  type Cookies = { count: number; secret: string; lifetimeMs?: number };

  /** Reads the profile with each of these cookies this many times, in a process that then ends. */
  async function readProfiles({ environment }: Account, ...cookies: Cookies[]) {
    const logger = createLogger('silent');
    const handler = createHandler({ environment, logger, maintenance: 'off' });
    const url = 'http://localhost/api/user';
    const profiles: string[] = [];
    for (const { count, secret, lifetimeMs = HOUR_MS } of cookies) {
      const options = { nowMs: Date.now() - HOUR_MS + 1, lifetimeMs: HOUR_MS + lifetimeMs };
      const headers = { cookie: `session=${await issueSession(1, secret, options)}` };
      for (let number = 0; number < count; number += 1) {
        profiles.push(await (await handler(new Request(url, { headers }))).text());
      }
    }
    await handler.close();
    return profiles;
  }

  const cookieIssues = async (account: Account) =>
    issuesOf(await account.examine()).filter((issue) => issue.includes('session cookie'));

  test('are a failure when another secret signed them, until the right one does', async () => {
    const account = await openAccount();
    expect(await readProfiles(account, { count: 12, secret: OTHER_SECRET })).toEqual(
      Array(12).fill('null'),
    );
    expect(await cookieIssues(account)).toEqual([
      expect.stringMatching(/^failure sessions refused: 12 session cookies refused for /),
    ]);
    // The server was restarted with the right secret, some minutes later.
    const earlier = `stored_at = stored_at - interval '2 minutes'`;
    await account.database.query(`update instep.refusals set ${earlier}`);
    await readProfiles(account, { count: 1, secret: AUTH_SECRET });
    expect(await cookieIssues(account)).toEqual([]);
  });
});
