import { readFileSync } from 'node:fs';
import type { ApplicationId, TeamAccess } from 'instep';
import type { PlanSelection } from 'instep-engine/rule';
import { beforeEach, describe, expect, test } from 'vitest';
import { makeAccessView, readAccess, storePolicy } from '../support/internals/access.ts';
import { recognizeTables } from '../support/internals/database.ts';
import type { AccessPolicy } from '../support/internals/server.ts';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openWholePipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const DOCUMENTATION = readFileSync(new URL('../../docs/access.md', import.meta.url), 'utf8');

const DAY = 86_400;
const at = (seconds: number) => new Date(seconds * 1_000);

const DEFAULTS: AccessPolicy = { planSelection: 'newest', pastDueGraceMs: null };
const GRACE: AccessPolicy = { ...DEFAULTS, pastDueGraceMs: 14 * DAY * 1_000 };

/** Now, in whole seconds, so that a grace is running. */
const NOW = Math.floor(Date.now() / 1_000);

describe.each(postgresServers)('instep.team_access on $name', (server) => {
  const store = useDatabase(server);
  const makeView = async () =>
    makeAccessView(store.database, await recognizeTables(store.database.query, {}));

  beforeEach(() => storePolicy(store.database.query, DEFAULTS));

  /** Delivers an event with these members in its subscription. */
  async function deliver(
    fields: Parameters<typeof eventBody>[0],
    members: object = {},
    planSelection: PlanSelection = 'newest',
  ): Promise<void> {
    const event = JSON.parse(eventBody(fields));
    Object.assign(event.data.object, members);
    const { ingest } = openWholePipeline(store.database, { planSelection });
    await ingest([received(JSON.stringify(event))]);
  }

  async function accessOf(teamId: ApplicationId): Promise<TeamAccess | null> {
    return await readAccess(store.database.query, teamId);
  }

  test('a team that never had a subscription has none', async () => {
    const { teamId } = await store.addTeam();
    expect(await accessOf(teamId)).toEqual({
      teamId,
      hasAccess: false,
      reason: 'none',
      ...{ planName: null, productId: null, subscriptionId: null, quantity: null, status: null },
      ...{ since: null, endsAt: null, trialEndsAt: null, currentPeriodEndsAt: null },
      ...{ cancelAtPeriodEnd: null, paymentDueSince: null, collectionPaused: null },
    });
  });

  test.each([2 ** 31, 'seven', '7; drop table teams', ''])(
    'there is no access for the unknown team %j',
    async (teamId) => expect(await accessOf(teamId)).toBeNull(),
  );

  test('shows the facts of the newest event', async () => {
    const { teamId, customerId } = await store.addTeam();
    await deliver(
      { customerId, createdSeconds: NOW - 10, status: 'active' },
      {
        cancel_at_period_end: true,
        pause_collection: { behavior: 'void' },
        trial_end: NOW - DAY,
        items: {
          data: [
            {
              quantity: 5,
              current_period_end: NOW + DAY,
              plan: { product: { id: 'prod_9', name: 'Pro' } },
            },
          ],
        },
      },
    );
    expect(await accessOf(teamId)).toEqual({
      teamId,
      hasAccess: true,
      reason: 'active',
      ...{ planName: 'Pro', productId: 'prod_9', subscriptionId: 'sub_1', quantity: 5 },
      ...{ status: 'active', since: at(NOW - 10), endsAt: at(NOW + DAY) },
      ...{ trialEndsAt: at(NOW - DAY), currentPeriodEndsAt: at(NOW + DAY) },
      ...{ cancelAtPeriodEnd: true, paymentDueSince: null, collectionPaused: true },
    });
  });

  test.each([
    ['active', 'active', true],
    ['trialing', 'trialing', true],
    ['past_due', 'past_due', true],
    ['paused', 'paused', false],
    ['unpaid', 'unpaid', false],
    ['canceled', 'canceled', false],
    ['incomplete', 'incomplete', false],
    ['incomplete_expired', 'incomplete_expired', false],
    ['new_at_stripe', 'unknown_status', true],
  ])('an active subscription that becomes %s is %s', async (status, reason, hasAccess) => {
    const { teamId, customerId } = await store.addTeam();
    await deliver({ customerId, createdSeconds: 1_000, status: 'active' });
    await deliver({ customerId, createdSeconds: 2_000, status });
    const since = at(status === 'active' ? 1_000 : 2_000);
    const paymentDueSince = status === 'past_due' ? since : null;
    const expected = { status, reason, hasAccess, since, paymentDueSince };
    expect(await accessOf(teamId)).toMatchObject(expected);
  });

  describe('a grace for payments that are due', () => {
    test('ends when the current run of past-due events is too old', async () => {
      const { teamId, customerId } = await store.addTeam();
      await deliver({ customerId, createdSeconds: NOW - 40 * DAY, status: 'past_due' });
      await deliver({ customerId, createdSeconds: NOW - 39 * DAY, status: 'active' });
      await deliver({ customerId, createdSeconds: NOW - 13 * DAY, status: 'past_due' });
      await deliver({ customerId, createdSeconds: NOW - DAY, status: 'past_due' });
      const due = { paymentDueSince: at(NOW - 13 * DAY), status: 'past_due' };
      const unlimited = { ...due, reason: 'past_due', hasAccess: true, endsAt: null };
      expect(await accessOf(teamId)).toMatchObject(unlimited);

      await storePolicy(store.database.query, GRACE);
      const within = { ...unlimited, since: at(NOW - 13 * DAY), endsAt: at(NOW + DAY) };
      expect(await accessOf(teamId)).toMatchObject(within);

      await storePolicy(store.database.query, { ...GRACE, pastDueGraceMs: 12 * DAY * 1_000 });
      const expired = { ...due, reason: 'past_due_expired', hasAccess: false, endsAt: null };
      expect(await accessOf(teamId)).toMatchObject({ ...expired, since: at(NOW - DAY) });
      expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
    });

    test('a payment ends the run', async () => {
      const { teamId, customerId } = await store.addTeam();
      await storePolicy(store.database.query, GRACE);
      await deliver({ customerId, createdSeconds: NOW - 30 * DAY, status: 'past_due' });
      await deliver({ customerId, createdSeconds: NOW - 20 * DAY, status: 'past_due' });
      // The payment arrives late.
      await deliver({ customerId, createdSeconds: NOW - 25 * DAY, status: 'active' });
      const expected = { reason: 'past_due_expired', paymentDueSince: at(NOW - 20 * DAY) };
      expect(await accessOf(teamId)).toMatchObject(expected);
    });
  });

  describe('an end that has passed', () => {
    const ACCESS = { hasAccess: true };
    const OVER = { hasAccess: false, reason: 'end_not_confirmed', endsAt: null };
    const trial = (action: string) => ({
      trial_end: NOW - 2 * DAY,
      trial_settings: { end_behavior: { missing_payment_method: action } },
      default_payment_method: null,
    });
    const [item] = JSON.parse(eventBody()).data.object.items.data;
    const ending = (days: number) => ({ ...item, current_period_end: NOW + days * DAY });
    const period = { cancel_at_period_end: true, items: { data: [ending(-2)] } };

    test.each([
      ['a planned end', 'active', { cancel_at: NOW - 2 * DAY }],
      ['that of a trial that will be canceled', 'trialing', trial('cancel')],
      ['that of a trial that will be paused', 'trialing', trial('pause')],
      ['that of a period that will not renew', 'active', period],
    ])('takes access away a day later: %s', async (_, status, members) => {
      const { teamId, customerId } = await store.addTeam();
      const fields = { customerId, status };
      await deliver({ ...fields, createdSeconds: NOW - 30 * DAY }, members);
      expect(await accessOf(teamId)).toMatchObject({ ...OVER, status, since: at(NOW - 2 * DAY) });
      expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: status });
      // Stripe says that it has not ended.
      await deliver({ ...fields, createdSeconds: NOW - 1 }, members);
      expect(await accessOf(teamId)).toMatchObject({ ...ACCESS, reason: status });
    });

    test.each([
      ['less than a day ago', 'active', { cancel_at: NOW - DAY + 600 }],
      [
        'of a trial with a payment method',
        'trialing',
        { ...trial('cancel'), default_payment_method: 'pm_1' },
      ],
      ['of a period that renews', 'active', { ...period, cancel_at_period_end: false }],
    ])('takes nothing away: %s', async (_, status, members) => {
      const { teamId, customerId } = await store.addTeam();
      await deliver({ customerId, status, createdSeconds: NOW - 30 * DAY }, members);
      expect(await accessOf(teamId)).toMatchObject({ ...ACCESS, reason: status });
    });
  });

  test('shows the subscription of the plan, if two deciding events are of one second', async () => {
    const { teamId, customerId } = await store.addTeam();
    const both = { customerId, createdSeconds: NOW - 10, status: 'active' };
    await deliver({ ...both, subscriptionId: 'sub_a' });
    await deliver({ ...both, subscriptionId: 'sub_b' });
    const later = { customerId, createdSeconds: NOW - 9, status: 'past_due' };
    await deliver({ ...later, subscriptionId: 'sub_a' });
    const plan = await store.planOf(teamId);
    expect(plan).toMatchObject({ providerSubscriptionId: 'sub_b' });
    expect(await accessOf(teamId)).toMatchObject({ subscriptionId: 'sub_b' });
  });

  test('is found by an index, for one team and for a join with teams', async () => {
    await store.database.query(
      `insert into teams (name, provider_customer_id)
       select 'Team', 'cus_plan_' || number from generate_series(1, 5000) as number`,
    );
    await store.database.query(
      `insert into instep.customers
              (customer_id, version, subscriptions, subscription_ids, access_rules, grants_plan, had_team)
       select 'cus_plan_' || number, 1, '{}', '{}', 'newest', false, true
         from generate_series(1, 5000) as number`,
    );
    await store.database.query('analyze');
    for (const statement of [
      'select * from instep.team_access where team_id = 7',
      `select * from teams join instep.team_access on team_id = teams.id where provider_customer_id = 'cus_plan_7'`,
    ]) {
      const plan = await store.database.query<{ 'QUERY PLAN': string }>(`explain ${statement}`);
      const text = plan.map((row) => row['QUERY PLAN']).join('\n');
      expect(text).toContain('teams_pkey');
      expect(text).toContain('customers_pkey');
      expect(text).not.toMatch(/Seq Scan on (teams|customers)|Function Scan/);
    }
  });

  describe('a plan that the app gave away', () => {
    const give = (teamId: ApplicationId, status: string | null = 'active') =>
      store.database.query(
        `update teams set provider_subscription_id = null, provider_product_id = 'prod_gift',
                          plan_name = 'Gift', subscription_status = $2
          where id = $1`,
        [teamId, status],
      );
    const GIVEN = {
      ...{ hasAccess: true, reason: 'app', planName: 'Gift', productId: 'prod_gift' },
      ...{ subscriptionId: null, status: null, since: null, endsAt: null },
    };

    test('gives access while no subscription does', async () => {
      await storePolicy(store.database.query, GRACE);
      const { teamId, customerId } = await store.addTeam();
      await give(teamId);
      expect(await accessOf(teamId)).toMatchObject(GIVEN);
      await deliver({ customerId, createdSeconds: NOW - 30 * DAY, status: 'past_due' });
      expect(await accessOf(teamId)).toMatchObject(GIVEN);
      const second = { customerId, subscriptionId: 'sub_2' };
      await deliver({ ...second, createdSeconds: NOW - DAY, status: 'past_due' });
      expect(await accessOf(teamId)).toMatchObject({ hasAccess: true, reason: 'past_due' });
      await deliver({ ...second, createdSeconds: NOW, status: 'active' });
      await give(teamId);
      expect(await accessOf(teamId)).toMatchObject({ reason: 'active', planName: null });
    });

    test.each([null, 'canceled', 'free'])('gives none with the status %s', async (status) => {
      const { teamId } = await store.addTeam();
      await give(teamId, status);
      expect(await accessOf(teamId)).toMatchObject({ hasAccess: false, reason: 'none' });
    });
  });

  test('needs only the two grants of the documentation, and the policies on teams apply', async () => {
    const { teamId, customerId } = await store.addTeam();
    await deliver({ customerId });
    const rows = await store.database.transaction(async (query) => {
      await query('create role app_role');
      const columns = [
        ...['id', 'provider_customer_id', 'provider_subscription_id'],
        ...['provider_product_id', 'plan_name', 'subscription_status'],
      ];
      await query(`grant select (${columns}) on teams to app_role`);
      await query('grant usage on schema instep to app_role');
      await query('grant select on instep.team_access to app_role');
      await query('alter table teams enable row level security');
      await query(`create policy own on teams to app_role using (id = ${teamId})`);
      await query('set local role app_role');
      const rows = await query('select team_id, reason from instep.team_access');
      await query('reset role');
      await query('drop policy own on teams');
      await query('alter table teams disable row level security');
      await query('drop owned by app_role');
      await query('drop role app_role');
      return rows;
    });
    expect(rows).toEqual([{ team_id: teamId, reason: 'active' }]);
  });

  test('the banner of the documentation is one select', async () => {
    const [, select = ''] = /## A banner[\s\S]*?```sql\n([\s\S]*?)```/.exec(DOCUMENTATION) ?? [];
    const { teamId, customerId } = await store.addTeam();
    const banner = async () =>
      (await store.database.query<{ banner: string | null }>(select, [teamId]))[0]?.banner;
    expect(await banner()).toBe('You have no plan.');
    const first = { customerId, createdSeconds: NOW - 100 };
    await deliver({ ...first, status: 'trialing' }, { trial_end: NOW + DAY });
    expect(await banner()).toBe('Your trial ends soon.');
    await deliver({ ...first, createdSeconds: NOW - 90 }, { cancel_at: Date.UTC(2100, 2) / 1_000 });
    expect(await banner()).toBe('Your plan ends on 1 March.');
    await deliver({ ...first, createdSeconds: NOW - 80, status: 'past_due' });
    expect(await banner()).toBe('Your payment failed. Please update your card.');
    await deliver({ ...first, createdSeconds: NOW - 70 });
    expect(await banner()).toBeNull();
  });

  test('the app can alter its table, and the next start fits the view to it', async () => {
    const { teamId, customerId } = await store.addTeam();
    await deliver({ customerId });
    await store.database.query('alter table teams alter column id type bigint');
    await makeView();
    expect(await readAccess(store.openAnother().query, teamId)).toMatchObject({ reason: 'active' });
  });
});
