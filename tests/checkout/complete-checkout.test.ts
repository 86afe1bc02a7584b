import fc from 'fast-check';
import type { ApplicationId, CompleteCheckoutRequest } from 'instep';
import { openContext } from 'instep/operate';
import { completeCheckout } from 'instep/src/checkout/checkout.ts';
import { type CheckoutSessionFields, createCheckoutSession } from 'instep/testing';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { addTeam } from '../support/internals/rows.ts';
import { lockTeam, whileHeld } from '../support/postgres/locks.ts';
import { eventBody, received } from '../support/stripe/events.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';
import { repetitions } from '../support/test-length.ts';

const account = await openAccount();
const { query } = account.database;
const context = await openContext({ environment: account.environment });
const otherInstance = await openContext({ environment: account.environment });
afterAll(async () => {
  await context.close();
  await otherInstance.close();
});

beforeEach(account.empty);

const nowSeconds = () => Math.floor(Date.now() / 1_000);

/** A checkout that has begun a trial of Pro. Stripe sends no event about it. */
async function checkOut(
  fields: Partial<CheckoutSessionFields> = {},
  subscription: Partial<Parameters<typeof eventBody>[0]> = {},
): Promise<string> {
  const session = createCheckoutSession({ customerId: 'cus_1', ...fields });
  account.checkoutSessions.set(session);
  const trial = { status: 'trialing', productId: 'prod_pro', createdSeconds: nowSeconds() };
  const { customer: customerId, subscription: subscriptionId } = session;
  const begun = subscriptionId === null ? {} : { subscriptionId };
  await account.happen({ customerId, ...begun, ...trial, ...subscription }, 'missed');
  return session.id;
}

const callsForSessions = () => account.calls.filter((path) => path.startsWith('/v1/checkout/'));

const newTeam = (customerId: string | null = null) => addTeam(query, { name: 'Acme', customerId });

const complete = (sessionId: string, teamId: CompleteCheckoutRequest['teamId']) =>
  completeCheckout(context, sessionId, { teamId });

const codeOf = async (call: Promise<unknown>) =>
  await call.then(
    () => 'done',
    (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
  );

const linksAndLog = async () => [
  await query('select id, provider_customer_id as customer from teams order by id'),
  await query('select outcome from instep.events order by position'),
];

const PRO = { hasAccess: true, reason: 'trialing', planName: 'Pro', productId: 'prod_pro' };
const ROW = { planName: 'Pro', providerProductId: 'prod_pro', subscriptionStatus: 'trialing' };

describe('a completed checkout', () => {
  test.each([
    ['without a customer', null],
    ['that has the customer', 'cus_1'],
  ])('gives a team %s the plan, although no event has arrived', async (_, customerId) => {
    const teamId = await newTeam(customerId);
    const access = await complete(await checkOut(), teamId);
    expect(access).toMatchObject({ teamId, status: 'trialing', ...PRO });
    expect(await account.planOf(teamId)).toMatchObject({ customerId: 'cus_1', plan: ROW });
    expect(callsForSessions()).toHaveLength(1);
  });

  test('can be completed again, and then changes nothing', async () => {
    const sessionId = await checkOut();
    const teamId = await newTeam();
    const first = await complete(sessionId, teamId);
    const before = await linksAndLog();
    expect(await complete(sessionId, teamId)).toEqual(first);
    expect(await linksAndLog()).toEqual(before);
    expect(before).toEqual([[{ id: teamId, customer: 'cus_1' }], [{ outcome: 'applied' }]]);
  });

  test('is done although its access can not be read, and another call says so', async () => {
    const sessionId = await checkOut();
    const teamId = await newTeam();
    await query('alter view instep.team_access rename to team_access_hidden');
    try {
      expect(await codeOf(complete(sessionId, teamId))).toBe('DATABASE_UNUSABLE');
    } finally {
      await query('alter view instep.team_access_hidden rename to team_access');
    }
    expect(await account.planOf(teamId)).toMatchObject({ customerId: 'cus_1', plan: ROW });
    const before = await linksAndLog();
    expect(await complete(sessionId, teamId)).toMatchObject(PRO);
    expect(await linksAndLog()).toEqual(before);
  });

  test('finds its team by a function of what the app wrote into the session', async () => {
    const teamId = await newTeam();
    const metadata = { campaign: 'spring' };
    const sessionId = await checkOut({ clientReferenceId: 'user_7', metadata });
    const access = await complete(sessionId, async (checkout) => {
      expect(checkout).toEqual({ clientReferenceId: 'user_7', customerId: 'cus_1', metadata });
      return teamId;
    });
    expect(access).toMatchObject(PRO);
  });

  test('decides the events that were parked until now, whichever is newer', async () => {
    const teamId = await newTeam();
    const sessionId = await checkOut();
    const fields = { customerId: 'cus_1', subscriptionId: 'sub_1', productId: 'prod_pro' };
    const created = nowSeconds();
    const parked = [created - 60, created + 60].map((createdSeconds) =>
      received(eventBody({ ...fields, createdSeconds }), Date.now()),
    );
    await account.ingest(parked);
    const access = await complete(sessionId, teamId);
    expect(access).toMatchObject({ planName: 'Pro', reason: 'active' });
    const outcomes = await query<{ outcome: string }>(
      'select outcome from instep.events order by created_at',
    );
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['applied', 'stale', 'applied']);
  });

  test('of a payment that is pending changes no plan, and says so', async () => {
    const teamId = await newTeam();
    const sessionId = await checkOut({}, { status: 'incomplete' });
    const pending = { hasAccess: false, reason: 'incomplete', status: 'incomplete' };
    expect(await complete(sessionId, teamId)).toMatchObject(pending);
    const before = await linksAndLog();
    expect(await complete(sessionId, teamId)).toMatchObject(pending);
    expect(await linksAndLog()).toEqual(before);
  });

  test('counts more than a subscription that ended just before it', async () => {
    const teamId = await newTeam('cus_1');
    const old = { customerId: 'cus_1', subscriptionId: 'sub_old', productId: 'prod_base' };
    await account.happen({ ...old, status: 'canceled', createdSeconds: nowSeconds() - 1 });
    expect(await complete(await checkOut(), teamId)).toMatchObject(PRO);
  });

  test('whose page is loaded again takes no newer plan away, although its own end was missed', async () => {
    const teamId = await newTeam('cus_1');
    const began = nowSeconds() - 900;
    const sessionId = await checkOut({}, { createdSeconds: began });
    await complete(sessionId, teamId);
    const end = { status: 'canceled', createdSeconds: began + 300 };
    const first = { customerId: 'cus_1', subscriptionId: 'sub_1', productId: 'prod_pro' };
    await account.happen({ ...first, ...end }, 'missed');
    await query('truncate instep.events, instep.customers');
    const next = { customerId: 'cus_1', subscriptionId: 'sub_next', productId: 'prod_base' };
    await account.happen({ ...next, createdSeconds: began + 600 });
    expect(await complete(sessionId, teamId)).toMatchObject({ hasAccess: true, planName: 'Base' });
  });

  test.each([['unpaid'], ['active']])(
    'whose page is loaded again takes no newer plan away, although no event of it is known: %s',
    async (status) => {
      const teamId = await newTeam('cus_1');
      const sessionId = await checkOut({}, { status, createdSeconds: nowSeconds() - 9_000_000 });
      const newer = { customerId: 'cus_1', subscriptionId: 'sub_newer', productId: 'prod_base' };
      await account.happen({ ...newer, createdSeconds: nowSeconds() - 900 });
      const access = { hasAccess: true, planName: 'Base' };
      expect(await complete(sessionId, teamId)).toMatchObject(access);
      const before = await linksAndLog();
      expect(await complete(sessionId, teamId)).toMatchObject(access);
      expect(await linksAndLog()).toEqual(before);
    },
  );

  test.each(['before', 'after'])(
    'counts more than an older plan that changed after it, with the webhooks %s the call',
    async (when) => {
      const teamId = await newTeam('cus_1');
      const began = nowSeconds() - 60;
      const sessionId = await checkOut({}, { status: 'active', createdSeconds: began });
      const changes = [
        { subscriptionId: 'sub_1', productId: 'prod_pro', createdSeconds: began + 1 },
        { subscriptionId: 'sub_old', productId: 'prod_base', createdSeconds: began + 20 },
      ].map((fields) => received(eventBody({ customerId: 'cus_1', ...fields })));
      if (when === 'before') await account.ingest(changes);
      expect(await complete(sessionId, teamId)).toMatchObject({ planName: 'Pro' });
      await account.ingest(changes);
      const before = await linksAndLog();
      expect(await complete(sessionId, teamId)).toMatchObject({ planName: 'Pro' });
      expect(await linksAndLog()).toEqual(before);
    },
  );

  test('on a test clock in the future does not beat later events for ever', async () => {
    const teamId = await newTeam();
    const sessionId = await checkOut({}, { createdSeconds: nowSeconds() + 9_000_000 });
    await complete(sessionId, teamId);
    const [event] = await query<{ late: boolean }>(
      `select created_at > now() + interval '1 minute' as late from instep.events`,
    );
    expect(event?.late).toBe(false);
  });

  test('waits for a team that another transaction has locked', async () => {
    const teamId = await newTeam();
    const sessionId = await checkOut();
    let ended: Promise<unknown> | undefined;
    await whileHeld(account.database, lockTeam(teamId), async () => {
      ended = complete(sessionId, teamId);
      await expect.poll(() => callsForSessions().length).toBe(1);
    });
    expect(await ended).toMatchObject(PRO);
  });
});

describe('a checkout that can not be completed changes nothing', () => {
  test.each([
    ['is open', { status: 'open' }, 'CHECKOUT_NOT_COMPLETE'],
    ['was a single payment', { mode: 'payment' }, 'CHECKOUT_NOT_COMPLETE'],
    ['names another team', { metadata: { teamId: '4711' } }, 'CHECKOUT_OF_ANOTHER_TEAM'],
    ['has the customer of another team', { customerId: 'cus_2' }, 'CHECKOUT_OF_ANOTHER_TEAM'],
  ] as const)('one that %s', async (_, fields, code) => {
    await newTeam('cus_2');
    const teamId = await newTeam();
    const before = await linksAndLog();
    expect(await codeOf(complete(await checkOut(fields), teamId))).toBe(code);
    expect(await linksAndLog()).toEqual(before);
  });

  test('one whose subscription names another team', async () => {
    const teamId = await newTeam();
    const sessionId = await checkOut();
    const subscription = account.subscriptions.get('sub_1');
    if (subscription === undefined) throw new RangeError('no subscription');
    account.subscriptions.set({ ...subscription, ...{ metadata: { teamId: '4711' } } });
    expect(await codeOf(complete(sessionId, teamId))).toBe('CHECKOUT_OF_ANOTHER_TEAM');
  });

  test('one for a team with another customer', async () => {
    const teamId = await newTeam('cus_other');
    const before = await linksAndLog();
    expect(await codeOf(complete(await checkOut(), teamId))).toBe('TEAM_HAS_ANOTHER_CUSTOMER');
    expect(await linksAndLog()).toEqual(before);
  });

  test.each(['cs_unknown', '', '..', `cs_${'x'.repeat(10_000)}`, 'cs_1\0'])(
    'an unknown session %#',
    async (sessionId) => {
      const teamId = await newTeam();
      expect(await codeOf(complete(sessionId, teamId))).toBe('CHECKOUT_NOT_COMPLETE');
    },
  );

  test.each([4711, 'x', '\0', 'é'.repeat(300), ''])('no team %#', async (teamId) => {
    expect(await codeOf(complete(await checkOut(), teamId))).toBe('NOT_FOUND');
  });

  test.each([
    ['fails', { status: 500 }],
    ['rejects the key', { status: 401 }],
  ])('while the API %s', async (_, fault) => {
    const teamId = await newTeam();
    const sessionId = await checkOut();
    account.fault = () => fault;
    expect(await codeOf(complete(sessionId, teamId))).toBe('STRIPE_UNAVAILABLE');
  });
});

test('a function that never finds the team is given up after 5 seconds', async () => {
  const sessionId = await checkOut();
  const before = await linksAndLog();
  const call = complete(sessionId, () => new Promise(() => undefined));
  expect(await codeOf(call)).toBe('DEADLINE_EXCEEDED');
  expect(await linksAndLog()).toEqual(before);
});

test('two teams that complete a checkout at the same moment: one gets the plan', async () => {
  await query('alter table teams drop constraint if exists teams_provider_customer_id_key');
  for (let round = 0; round < 10; round += 1) {
    const sessionId = await checkOut({ customerId: `cus_both${round}` });
    const calls = [context, otherInstance].map(async (instance) => {
      const teamId = await newTeam();
      return await codeOf(completeCheckout(instance, sessionId, { teamId }));
    });
    expect((await Promise.all(calls)).sort()).toEqual(['CHECKOUT_OF_ANOTHER_TEAM', 'done']);
  }
});

test('a team whose customer another team has too gets the plan', async () => {
  await query('alter table teams drop constraint if exists teams_provider_customer_id_key');
  const customerId = 'cus_shared';
  await newTeam(customerId);
  const teamId = await newTeam(customerId);
  expect(await complete(await checkOut({ customerId }), teamId)).toMatchObject(PRO);
});

/** The plan of a team is that of the last event, with the checkout at any place in the delivery. */
test('webhooks at the same moment, in any order, end with the newest state', async () => {
  const statuses = ['trialing', 'active', 'canceled', 'unpaid', 'past_due', 'paused'];
  const anyLife = fc.record({
    statuses: fc.array(fc.constantFrom(...statuses), { minLength: 1, maxLength: 6 }),
    shownUntil: fc.nat({ max: 5 }),
    isLinked: fc.boolean(),
    seed: fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
  });
  let count = 0;
  await fc.assert(
    fc.asyncProperty(anyLife, async (life) => {
      count += 1;
      const fields = {
        customerId: `cus_life${count}`,
        subscriptionId: `sub_life${count}`,
        productId: 'prod_pro',
      };
      const begin = nowSeconds() - 1_000;
      // Stripe's response is from the moment after this event; the others happen after it.
      const shown = Math.min(life.shownUntil, life.statuses.length - 1);
      const secondsOf = (index: number) =>
        index <= shown ? begin + index * 100 : nowSeconds() + index * 100;
      const bodies = ['trialing', ...life.statuses].map((status, index) =>
        eventBody({ ...fields, status, createdSeconds: secondsOf(index - 1) }),
      );
      const sessionId = await checkOut(fields, {
        ...fields,
        status: life.statuses[shown],
        createdSeconds: begin - 100,
      });
      const teamId = await newTeam(life.isLinked ? fields.customerId : null);
      const calls: (() => Promise<unknown>)[] = [
        ...[...bodies, ...bodies].map((body) => () => account.ingest([received(body)])),
        () => complete(sessionId, teamId),
        () => complete(sessionId, teamId),
      ];
      const shuffled = calls
        .map((call) => [life.seed.next().value ?? 0, call] as const)
        .sort(([one], [other]) => one - other);
      await Promise.all(shuffled.map(([, call]) => call()));
      const access = await complete(sessionId, teamId);
      expect(access.status).toBe(life.statuses.at(-1));
      const effective = ['trialing', ...life.statuses].filter(
        (status) => !['past_due', 'paused'].includes(status),
      );
      expect((await account.planOf(teamId))?.plan.subscriptionStatus).toBe(effective.at(-1));
    }),
    { numRuns: repetitions(20, 300) },
  );
});

test('a crash before the commit changes nothing, and calling again completes it', async () => {
  const teamId: ApplicationId = await newTeam();
  const sessionId = await checkOut();
  await query(`
    create function crash() returns trigger language plpgsql as
    $$begin perform pg_terminate_backend(pg_backend_pid()); return new; end$$;
    create constraint trigger crash after update on teams
      deferrable initially deferred for each row execute function crash()`);
  const before = await linksAndLog();
  expect(await codeOf(complete(sessionId, teamId))).toBe('DATABASE_UNAVAILABLE');
  await query('drop trigger crash on teams; drop function crash');
  expect(await linksAndLog()).toEqual(before);
  expect(await complete(sessionId, teamId)).toMatchObject(PRO);
});
