import { expect, test } from 'vitest';
import { spawnInstep } from '../support/process/instep-process.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const HOUR_SECONDS = 3_600;
const now = Math.floor(Date.now() / 1_000);
const at = (hoursAgo: number) => now - hoursAgo * HOUR_SECONDS;
const shown = (seconds: number) =>
  `${new Date(seconds * 1_000).toISOString().slice(0, 19).replace('T', ' ')}Z`;

/** A subscription of this customer, hours ago. */
const pro = (customerId: string, hoursAgo: number, status = 'active') => ({
  customerId,
  subscriptionId: `sub_of_${customerId}`,
  productId: 'prod_pro',
  createdSeconds: at(hoursAgo),
  status,
});

test('reports drift with its cause, and repairs it', async () => {
  const account = await openAccount();
  const missed = await account.addTeam('cus_missed');
  await account.happen(pro('cus_missed', 10));
  await account.happen(pro('cus_missed', 5, 'canceled'), 'missed');
  const unseen = await account.addTeam('cus_unseen');
  await account.happen(pro('cus_unseen', 9), 'missed');
  const byHand = await account.addTeam('cus_hand');
  await account.happen(pro('cus_hand', 8));
  await account.database.query(`update teams set plan_name = 'Gold' where id = $1`, [byHand]);
  await account.happen(pro('cus_nobody', 6), 'missed');
  const typo = await account.addTeam('cus_typo');
  account.customers.set({ id: 'cus_free' });
  await account.addTeam('cus_free');

  const lines = [
    `team ${missed} (cus_missed): subscriptionStatus active → canceled, planName Pro → -, providerProductId prod_pro → -, providerSubscriptionId sub_of_cus_missed → - (sub_of_cus_missed: missed event, since ${shown(at(5))})`,
    `team ${unseen} (cus_unseen): subscriptionStatus - → active, planName - → Pro, providerProductId - → prod_pro, providerSubscriptionId - → sub_of_cus_unseen (sub_of_cus_unseen: missed event, since ${shown(at(9))})`,
    `team ${byHand} (cus_hand): planName Gold → Pro (another plan name)`,
    'customer cus_nobody has no team (active)',
    `team ${typo}: Stripe does not know its customer cus_typo`,
  ].toSorted();
  const plansOf = async () =>
    (await Promise.all([missed, unseen, byHand].map(account.planOf))).map((team) => team?.plan);
  const before = await plansOf();
  const found = await account.reconcile('--dry-run');
  // Several customers are compared at once.
  expect({ ...found, lines: found.lines.toSorted() }).toMatchObject({ code: 3, lines });
  expect(found.stderr).toMatch(
    /^subscriptions 4, unreadable 0, teams 5, drifts 3, .*\n.*\[DRIFT_LEFT\]\n$/,
  );
  expect(await plansOf()).toEqual(before);

  const repaired = await account.reconcile();
  expect({ ...repaired, lines: repaired.lines.toSorted() }).toMatchObject({ code: 3, lines });
  expect(repaired.stderr).toContain('drifts 3, repaired 3, ');
  expect(await plansOf()).toMatchObject([
    { subscriptionStatus: 'canceled' },
    { subscriptionStatus: 'active', planName: 'Pro' },
    { planName: 'Pro' },
  ]);
  expect((await account.reconcile('--dry-run')).stderr).toMatch(
    /drifts 0, repaired 0, customers without team 1, unknown customers 1\ninstep: Stripe does not know the customers of 1 team/,
  );
});

test('--json prints a line for each issue and one for the counts', async () => {
  const account = await openAccount();
  const teamId = await account.addTeam('cus_1');
  await account.happen(pro('cus_1', 10), 'missed');
  const { code, lines, stderr } = await account.reconcile('--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      kind: 'drift',
      teamId,
      customerId: 'cus_1',
      cause: 'missed event',
      subscriptionIds: ['sub_of_cus_1'],
      sinceSeconds: at(10),
      is: expect.objectContaining({ subscriptionStatus: null }),
      shouldBe: expect.objectContaining({ subscriptionStatus: 'active' }),
      isRepaired: true,
    },
    {
      kind: 'counts',
      subscriptions: 1,
      unreadable: 0,
      teams: 1,
      drifts: 1,
      repaired: 1,
      customersWithoutTeam: 0,
      unknownCustomers: 0,
    },
  ]);
});

test('--customer reconciles one customer without listing the others', async () => {
  const account = await openAccount();
  const teamId = await account.addTeam('cus_1');
  const typo = await account.addTeam('cus_typo');
  for (const one of ['cus_1', 'cus_nobody']) await account.happen(pro(one, 1), 'missed');
  expect(await account.reconcile('--customer', 'cus_1')).toMatchObject({
    code: 0,
    lines: [expect.stringContaining(`team ${teamId} `)],
  });
  const lists = account.calls.filter((path) => path.startsWith('/v1/subscriptions'));
  expect(lists).toEqual([expect.stringContaining('customer=cus_1')]);
  expect(await account.reconcile('--customer', 'cus_nobody')).toMatchObject({
    code: 0,
    lines: ['customer cus_nobody has no team (active)'],
  });
  expect(await account.reconcile('--customer', 'cus_typo')).toMatchObject({
    code: 3,
    lines: [`team ${typo}: Stripe does not know its customer cus_typo`],
  });
});

test('a customer who was deleted at Stripe is right once the plan of the team has ended', async () => {
  const account = await openAccount();
  const teamId = await account.addTeam('cus_1');
  for (const [status, code] of [
    ['active', 3],
    ['canceled', 0],
  ] as const) {
    await account.happen(pro('cus_1', code + 1, status));
    account.customers.set({ id: 'cus_1', deleted: true });
    account.subscriptions.delete('sub_of_cus_1');
    const lines = code === 0 ? [] : [`team ${teamId}: Stripe does not know its customer cus_1`];
    expect(await account.reconcile()).toMatchObject({ code, lines });
    expect(await account.reconcile('--customer', 'cus_1')).toMatchObject({ code, lines });
  }
});

test('Ctrl-C stops it, and it can be started again', async () => {
  const account = await openAccount();
  for (let number = 0; number < 250; number += 1) {
    const customerId = `cus_${number}`;
    await account.happen({ ...pro(customerId, 400 - number), subscriptionId: `sub_${number}` });
  }
  const teamId = await account.addTeam('cus_100');
  account.delayMs = 300;
  let stopped: Promise<number | null> | undefined;
  const spawned = spawnInstep(['reconcile'], account.environment);
  account.fault = (path) => {
    if (path.includes('starting_after=sub_150')) stopped ??= spawned.stop('SIGINT');
    return undefined;
  };
  expect(await spawned.exited).toBe(1);
  expect(stopped).toBeDefined();
  expect(spawned.stderr).toBe('instep: stopped before it was done [RECONCILIATION_FAILED]\n');

  account.fault = undefined;
  account.delayMs = undefined;
  expect(await account.reconcile()).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(
      /^subscriptions 250, unreadable 0, teams 1, drifts 1, repaired 1/,
    ),
  });
  expect(await account.planOf(teamId)).toMatchObject({ plan: { subscriptionStatus: 'active' } });
});

test('a comparison finds and repairs what a missed event has changed in the columns that the table has', async () => {
  const account = await openAccount();
  await account.database.query(`
    alter table teams
      add column seats smallint,
      add column current_period_end integer,
      add column cancel_at_period_end boolean not null default false`);
  const tables = { INSTEP_TABLES: '{"teams": {"columns": {"quantity": "seats"}}}' };
  const teamId = await account.addTeam('cus_1');
  const sent = { customerId: 'cus_1', subscriptionId: 'sub_1', productId: 'prod_pro' };
  await account.happen({ ...sent, currentPeriodEndSeconds: 1_800_000_000 });
  expect((await account.planOf(teamId))?.plan).toMatchObject({ cancelAtPeriodEnd: false });
  const renewed = { ...sent, quantity: 5, cancelAtPeriodEnd: true };
  await account.happen({ ...renewed, currentPeriodEndSeconds: 1_900_000_000 }, 'missed');

  const compare = (...args: string[]) => account.reconcile(...args);
  Object.assign(account.environment, tables);
  const [found] = (await compare('--dry-run')).lines;
  expect(found).toContain('cancelAtPeriodEnd false → true');
  expect(found).toContain('quantity - → 5');
  expect(await compare()).toMatchObject({ code: 0 });
  const [row] = await account.database.query(
    'select seats, current_period_end, cancel_at_period_end, subscription_status from teams',
  );
  expect(row).toEqual({
    ...{ seats: 5, current_period_end: 1_900_000_000 },
    ...{ cancel_at_period_end: true, subscription_status: 'active' },
  });
  expect((await compare('--dry-run')).lines.join()).not.toContain('cus_1');
});
