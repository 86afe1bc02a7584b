import { randomUUID } from 'node:crypto';
import {
  findActions,
  findEvents,
  type Operator,
  perform,
  readTeam,
  rebuildTeams,
  reconcileTeams,
  replayLog,
} from 'instep/operate';
import { readTeamChanges } from 'instep-engine/postgres';
import { beforeEach, expect, test } from 'vitest';
import { collect } from '../support/collect.ts';
import {
  customerOf,
  openOperatedAccount,
  secondsAgo,
  teamOf,
} from '../support/stripe/operated-account.ts';

const operated = await openOperatedAccount();
const { account, context, query, operator, newTeam, planOf, recorded, link, unlink } = operated;

beforeEach(async () => {
  await operated.empty();
  for (const id of ['cus_1', 'cus_2']) account.customers.set({ id });
});

/** The event of a payment that waits for a team. */
const park = (customerId: string) =>
  operated.deliver({ customerId, productId: 'prod_pro', createdSeconds: secondsAgo(3_600) });

test('does not link a customer that Stripe does not know, unless Stripe does not answer', async () => {
  const teamId = await newTeam('Acme');
  const unknown = await link(teamOf(teamId), 'cus_typo');
  expect(unknown).toMatchObject({ isDone: false, result: { code: 'unknown-customer' } });
  expect(await readTeam(context, teamId)).toMatchObject({ customerId: null });
  account.fault = () => ({ status: 500 });
  expect((await link(teamOf(teamId), 'cus_typo'))?.result.code).toBe('linked');
});

test('does not wait for a team that another transaction holds', async () => {
  const teamId = await newTeam('Acme');
  const lock = `select from teams where id = ${teamId} for update`;
  const first = await account.database.transaction(async (holding) => {
    await holding(lock);
    const waiting = account.database.transaction(async (inTransaction) => {
      await inTransaction(`set local lock_timeout = '1s'`);
      await inTransaction(lock);
    });
    const linked = link(teamOf(teamId), 'cus_1');
    const ended = await Promise.race([linked, waiting.catch(() => 'the app')]);
    await Promise.allSettled([linked, waiting]);
    return ended;
  });
  expect(first).toMatchObject({
    isDone: false,
    result: { code: 'failed', error: 'DATABASE_BUSY' },
  });
});

test('a trigger that skips the change of the customer leaves no change in the history', async () => {
  const teamId = await newTeam('Acme');
  await park('cus_1');
  await link(teamOf(teamId), 'cus_1');
  const historyOf = async () => (await readTeamChanges(query, { teamId })).length;
  const changes = await historyOf();
  await query(`
    create function skip() returns trigger language plpgsql as 'begin return null; end';
    create trigger skip before update on teams for each row execute function skip()`);
  try {
    const refused = { isDone: false, result: { code: 'link-refused', teamId } };
    expect(await unlink(teamId, 'cus_1')).toMatchObject(refused);
    expect(await link(teamOf(teamId), 'cus_2', 'cus_1')).toMatchObject(refused);
  } finally {
    await query('drop function skip cascade');
  }
  expect(await historyOf()).toBe(changes);
  expect(await readTeam(context, teamId)).toMatchObject({ customerId: 'cus_1' });
});

test('records the plans before and after each action, and finds the actions of a person', async () => {
  const [one, other] = [await newTeam('One'), await newTeam('Other')];
  await park('cus_1');
  await park('cus_2');
  const grace: Operator = { name: 'user:8', how: 'application' };
  const events = findEvents(context).all();
  await link(teamOf(one), 'cus_1');
  await link(customerOf('cus_2'), 'Other');
  const unlinking = { subject: teamOf(one), expectedCustomerId: 'cus_1' } as const;
  await perform(context, grace, [{ action: 'unlink', ...unlinking }]);
  await query('update teams set plan_name = null where id = $1', [other]);
  await rebuildTeams(context, grace, { teamId: other });
  await replayLog(context, grace, events);
  await operated.dismiss(customerOf('cus_1'));
  const plan = expect.objectContaining({ subscriptionStatus: 'active', planName: 'Pro' });
  const changesBy = async (name: string) => {
    const found = await collect(findActions(context, { operator: name }).all());
    return found.map(({ action, subject, changes }) => ({ action, subject, changes }));
  };
  const first = (teamId: unknown) => [
    { id: expect.any(Number), teamId, before: null, after: plan },
  ];
  expect(await changesBy('user:7')).toEqual([
    { action: 'dismiss', subject: 'customer:cus_1', changes: [] },
    { action: 'link', subject: 'customer:cus_2', changes: first(other) },
    { action: 'link', subject: `team:${one}`, changes: first(one) },
  ]);
  expect(await changesBy('user:8')).toMatchObject([
    { action: 'replay', subject: 'events:all', changes: [] },
    {
      action: 'rebuild',
      changes: [{ teamId: other, before: { planName: null }, after: plan }],
    },
    { action: 'unlink', changes: [{ teamId: one, before: plan, after: null }] },
  ]);
  expect(await changesBy('nobody')).toEqual([]);
});

test('records an action as far as PostgreSQL can store its texts', async () => {
  const subject = customerOf(`cus_${'x'.repeat(400)}`);
  await operated.dismiss(subject, 'a\0b\ud800');
  await link(teamOf(await newTeam('Acme')), 'cus\0\ud800');
  expect(await recorded()).toMatchObject([
    { action: 'link', result: { code: 'unknown-customer', customerId: 'cus\ufffd' } },
    { subject: `customer:cus_${'x'.repeat(287)}`, isDone: true, note: 'ab\ufffd' },
  ]);
});

test.each([
  ['a name that two teams contain', 'Acm', 'several-teams'],
  ['the name of one team, part of which another has too', 'Acme', 'linked'],
])('a customer is linked to %s: %s', async (_, linkTo, code) => {
  await newTeam('Acme');
  await newTeam('Acme Two');
  expect((await link(customerOf('cus_1'), linkTo))?.result.code).toBe(code);
});

test("what fails doesn't stop the others, and what doesn't apply says so", async () => {
  const subject = teamOf(await newTeam('Acme', 'cus_1'));
  const { callId, results } = await perform(context, operator, [
    { action: 'link', subject, linkTo: 'acct_1', expectedCustomerId: 'cus_1' },
    { action: 'unlink', subject: { kind: 'event', id: '1' }, expectedCustomerId: null },
    { action: 'dismiss', subject },
  ]);
  const codes = ['unknown-customer', 'does-not-apply', 'dismissed'];
  expect(results.map(({ result }) => result.code)).toEqual(codes);
  // One row for each action of a form on a subject.
  const ofForm = findActions(context, { callId });
  const { rows: actions } = await ofForm.page();
  expect(actions).toHaveLength(3);
  const first = await ofForm.page({ limit: 1 });
  const rest = await ofForm.page({ start: { side: 'after', key: first.next ?? 0 } });
  expect([...first.rows, ...rest.rows]).toEqual(actions);
  const key = rest.previous ?? 0;
  expect(await ofForm.page({ start: { side: 'before', key }, limit: 1 })).toEqual(first);
  for (const other of [randomUUID(), 'x']) {
    expect((await findActions(context, { callId: other }).page()).rows).toEqual([]);
  }
});

test('reconciles all teams, and records repairs but no dry run', async () => {
  const teamId = await newTeam('Acme', 'cus_1');
  const fields = { customerId: 'cus_1', subscriptionId: 'sub_1', productId: 'prod_pro' };
  await account.happen({ ...fields, createdSeconds: secondsAgo(600) }, 'missed');
  const found = await reconcileTeams(context, operator, { isDryRun: true });
  expect(found).toMatchObject({ teams: 1, drifts: 1, repaired: 0 });
  expect(await recorded()).toEqual([]);
  const counts = await reconcileTeams(context, operator);
  expect(counts).toMatchObject({ drifts: 1, repaired: 1 });
  expect(await planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
  expect(await recorded()).toMatchObject([
    { action: 'reconcile', subject: 'teams:all', isDone: true, result: { code: 'reconciled' } },
  ]);
});
