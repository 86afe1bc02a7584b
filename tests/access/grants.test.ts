import { createHandler } from 'instep';
import {
  type ApplicationId,
  type Difference,
  explainTeam,
  findActions,
  findIssues,
  type GrantRequest,
  openContext,
  perform,
} from 'instep/operate';
import { readGrants, readTeamsOfDueGrants } from 'instep/src/access/grants.ts';
import { readAccess } from 'instep/src/access/team-access.ts';
import { findChangedTeams } from 'instep/src/maintenance/changed-teams.ts';
import { createSettleJob } from 'instep/src/maintenance/jobs.ts';
import { performForTeam, performOne } from 'instep/src/operate/perform.ts';
import { addTeam, readTeam } from 'instep/src/postgres/statements/teams.ts';
import { createLogger } from 'instep/src/runtime/logging.ts';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { AUTH_SECRET, WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { eventBody, received } from '../support/stripe/events.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { database } = account;
const { query } = database;
const context = await openContext({ environment: account.environment });
const operator = { name: 'user:7', how: 'application' } as const;
afterAll(() => context.close());

const { signal } = new AbortController();
const PARTNER = { planName: 'Partner', reason: 'launch partner' };
const NONE = {
  ...{ providerSubscriptionId: null, providerProductId: null },
  ...{ planName: null, subscriptionStatus: null },
};
const GRANTED = { ...NONE, planName: 'Partner', subscriptionStatus: 'active' };
const DAY_MS = 86_400_000;
const NOW = Math.floor(Date.now() / 1_000);

beforeEach(async () => {
  await query(`truncate teams, instep.events, instep.subscriptions, instep.findings,
                        instep.grants, instep.plan_changes, instep.operator_actions cascade`);
  for (const { id } of account.subscriptions.newestFirst()) account.subscriptions.delete(id);
  for (const { id } of account.customers.newestFirst()) account.customers.delete(id);
});

const teamSubject = (id: ApplicationId) => ({ kind: 'team', id: String(id) }) as const;
const grantBy = (
  name: string,
  teamId: ApplicationId,
  { planName, productId = null, until = null, reason: note }: GrantRequest,
) =>
  performForTeam(
    context,
    { ...operator, name },
    { action: 'grant', subject: teamSubject(teamId), grant: { planName, productId } },
    { note, until },
  );
const grantTo = (teamId: ApplicationId, request: GrantRequest) =>
  grantBy('user:7', teamId, request);
const revoke = (teamId: ApplicationId) =>
  performForTeam(context, operator, { action: 'revoke-grant', subject: teamSubject(teamId) });
const newTeam = (customerId: string | null = null) => addTeam(query, { name: 'Acme', customerId });
const planOf = async (id: ApplicationId) => (await readTeam(query, id))?.plan;
const causes = async () =>
  (await query<{ cause: string }>('select cause from instep.plan_changes order by id')).map(
    ({ cause }) => cause,
  );
const expire = () => query(`update instep.grants set ends_at = now() where closed_at is null`);

/** Runs the job as an instance does that knows nothing yet. */
const runJob = () => {
  const options = { database, planSelection: 'newest', logger: createLogger('silent') } as const;
  return createSettleJob(readTeamsOfDueGrants, options)(signal);
};

async function findByHand(): Promise<void> {
  const run = { progress: null, complete: async () => undefined };
  await findChangedTeams(run, { query, planSelection: 'newest' });
}

/** An event of a subscription of `cus_1` that is known at Stripe as well. */
async function happen(status: string, secondsLater: number): Promise<void> {
  const createdSeconds = NOW - 1_000 + secondsLater;
  const fields = { customerId: 'cus_1', subscriptionId: 'sub_1', productId: 'prod_pro' };
  await account.happen({ ...fields, status, createdSeconds });
}

describe('a team without a subscription', () => {
  test('has the granted plan and access until the grant is revoked', async () => {
    const id = await newTeam();
    const until = new Date(Date.now() + DAY_MS);
    const access = await grantTo(id, { ...PARTNER, until });
    expect(access).toMatchObject({
      ...{ teamId: id, hasAccess: true, reason: 'granted', planName: 'Partner' },
      ...{ subscriptionId: null, status: null, endsAt: until },
    });
    expect(await planOf(id)).toEqual(GRANTED);
    expect((await explainTeam(context, id))?.status).toMatchObject({
      kind: 'granted',
      grant: { reason: 'launch partner', grantedBy: 'user:7', endsAtMs: until.getTime() },
    });
    const revoked = await revoke(id);
    expect(revoked).toMatchObject({ hasAccess: false, reason: 'none', planName: null });
    expect(await planOf(id)).toEqual(NONE);
    expect(await causes()).toEqual(['grant', 'grant_ended']);
    const [row] = await query('select operator, plan_name_after from instep.plan_changes');
    expect(row).toEqual({ operator: 'user:7', plan_name_after: 'Partner' });
  });

  test('gets its former status back when the grant is revoked', async () => {
    const id = await newTeam('cus_1');
    await happen('active', 1);
    await happen('canceled', 2);
    const request = { ...PARTNER, productId: 'prod_partner' };
    await grantTo(id, request);
    expect(await planOf(id)).toEqual({ ...GRANTED, providerProductId: 'prod_partner' });
    await revoke(id);
    expect(await planOf(id)).toEqual({ ...NONE, subscriptionStatus: 'canceled' });
    expect(await readAccess(query, id)).toMatchObject({ hasAccess: false, reason: 'canceled' });
  });

  test('loses the access at the end by itself, and the plan by the job', async () => {
    const id = await newTeam();
    await grantTo(id, { ...PARTNER, until: new Date(Date.now() + DAY_MS) });
    await runJob();
    expect(await planOf(id)).toEqual(GRANTED);
    await expire();
    expect(await readAccess(query, id)).toMatchObject({ hasAccess: false, reason: 'none' });
    expect((await explainTeam(context, id))?.status.kind).toBe('granted');
    await Promise.all([runJob(), runJob()]);
    expect(await planOf(id)).toEqual(NONE);
    expect(await causes()).toEqual(['grant', 'grant_ended']);
    const [grant] = await readGrants(query, id);
    expect(grant).toMatchObject({ holds: false, revokedAtMs: null, revokedBy: null });
    await runJob();
    expect(await causes()).toHaveLength(2);
  });

  test('has one grant at a time, and all of them in its history', async () => {
    const id = await newTeam();
    await grantTo(id, PARTNER);
    await grantBy('user:8', id, { ...PARTNER, planName: 'Gold' });
    expect(await planOf(id)).toEqual({ ...GRANTED, planName: 'Gold' });
    expect(await readGrants(query, id)).toMatchObject([
      { planName: 'Gold', grantedBy: 'user:8', holds: true, revokedBy: null },
      { planName: 'Partner', grantedBy: 'user:7', holds: false, revokedBy: 'user:8' },
    ]);
    await revoke(id);
    expect(await planOf(id)).toEqual(NONE);
    const actions = await findActions(context).page();
    expect(actions.map(({ action, result, note }) => [action, result.code, note])).toEqual([
      ['revoke-grant', 'grant-revoked', null],
      ['grant', 'granted', 'launch partner'],
      ['grant', 'granted', 'launch partner'],
    ]);
  });
});

describe('a subscription', () => {
  test('takes precedence while it grants a plan, and the team falls back in its event', async () => {
    const id = await newTeam('cus_1');
    await grantTo(id, PARTNER);
    await happen('active', 1);
    const pro = { planName: 'Pro', providerSubscriptionId: 'sub_1' };
    expect(await planOf(id)).toMatchObject(pro);
    expect(await readAccess(query, id)).toMatchObject({ reason: 'active', endsAt: null });
    await happen('past_due', 2);
    expect(await planOf(id)).toMatchObject(pro);
    await happen('canceled', 3);
    expect(await planOf(id)).toEqual(GRANTED);
    expect(await readAccess(query, id)).toMatchObject({ hasAccess: true, reason: 'granted' });
    expect(await causes()).toEqual(['grant', 'event', 'grant']);
    const [last] = await query('select event_id from instep.plan_changes order by id desc limit 1');
    expect(last).toEqual({ event_id: expect.stringMatching('evt_') });
  });

  test('keeps its plan when a grant begins or ends beside it', async () => {
    const id = await newTeam('cus_1');
    await happen('active', 1);
    await grantTo(id, PARTNER);
    expect(await planOf(id)).toMatchObject({ planName: 'Pro' });
    await expire();
    await runJob();
    expect(await planOf(id)).toMatchObject({ planName: 'Pro' });
    expect(await causes()).toEqual(['event']);
    await happen('canceled', 2);
    expect(await planOf(id)).toEqual({ ...NONE, subscriptionStatus: 'canceled' });
  });

  test('that ended within a grant is followed when the grant has ended, by any event', async () => {
    const id = await newTeam('cus_1');
    await happen('active', 1);
    await happen('canceled', 2);
    await grantTo(id, PARTNER);
    await expire();
    await happen('incomplete', 3);
    expect(await planOf(id)).toEqual({ ...NONE, subscriptionStatus: 'canceled' });
    await runJob();
    expect((await causes()).slice(-2)).toEqual(['grant', 'grant_ended']);
    const [last] = await query('select event_id from instep.plan_changes order by id desc limit 1');
    expect(last).toEqual({ event_id: null });
  });

  test('that ends within a grant does not end the access', async () => {
    const id = await newTeam('cus_1');
    const event = JSON.parse(eventBody({ customerId: 'cus_1', createdSeconds: NOW - 10 }));
    Object.assign(event.data.object, { cancel_at: NOW + 3_600 });
    await account.ingest([received(JSON.stringify(event))]);
    const until = new Date(Date.now() + DAY_MS);
    await grantTo(id, { ...PARTNER, until });
    expect(await readAccess(query, id)).toMatchObject({ reason: 'active', endsAt: until });
    await grantTo(id, PARTNER);
    expect(await readAccess(query, id)).toMatchObject({ reason: 'active', endsAt: null });
  });

  test('that the application wrote, without any event, is not replaced', async () => {
    const id = await newTeam('cus_1');
    const own = { providerSubscriptionId: 'sub_new', planName: 'Base' };
    await query(`update teams set provider_subscription_id = 'sub_new', plan_name = 'Base',
                        subscription_status = 'active'`);
    await grantTo(id, PARTNER);
    expect(await planOf(id)).toMatchObject(own);
    await revoke(id);
    expect(await planOf(id)).toMatchObject(own);
  });
});

describe('a team that gets another customer or none', () => {
  const link = (id: ApplicationId, customerId: string | null) => {
    const subject = { kind: 'team', id: String(id) } as const;
    const linking = { action: 'link', linkTo: customerId ?? '', canReplace: true } as const;
    const request = customerId === null ? ({ action: 'unlink' } as const) : linking;
    return perform(context, operator, [{ ...request, subject }]);
  };

  test.each([null, 'cus_2'])('keeps the granted plan, without a change (%s)', async (other) => {
    const id = await newTeam('cus_1');
    await grantTo(id, PARTNER);
    await link(id, other);
    expect(await planOf(id)).toEqual(GRANTED);
    expect(await causes()).toEqual(['grant']);
  });

  test.each([null, 'cus_2'])('falls back to its grant in one change (%s)', async (other) => {
    const id = await newTeam('cus_1');
    await happen('active', 1);
    await grantTo(id, PARTNER);
    await link(id, other);
    await runJob();
    expect(await planOf(id)).toEqual(GRANTED);
    expect(await causes()).toEqual(['event', 'link']);
  });
});

describe('the job', () => {
  test('gives the plan back after the application has cleared it', async () => {
    const id = await newTeam('cus_1');
    await grantTo(id, PARTNER);
    for (const status of ["'canceled'", 'null']) {
      await query(`update teams set plan_name = null, subscription_status = ${status}`);
      await runJob();
      expect(await planOf(id)).toEqual(GRANTED);
    }
  });

  test('reads no team whose row is right, and changes none', async () => {
    const id = await newTeam('cus_1');
    await happen('active', 1);
    await happen('canceled', 3);
    await grantTo(id, PARTNER);
    const found = () => readTeamsOfDueGrants(query, { afterId: null, limit: 10, exceptIds: [] });
    expect((await found()).found).toEqual([]);
    const other = { customerId: 'cus_1', subscriptionId: 'sub_2', createdSeconds: NOW - 998 };
    await account.happen(other);
    // The newest event decides, and not the subscription that is still active.
    await runJob();
    expect(await planOf(id)).toEqual(GRANTED);
  });

  test('gives a team the plan of the customer that the application linked', async () => {
    await newTeam('cus_1');
    await happen('active', 1);
    await query('truncate teams');
    const id = await newTeam();
    await grantTo(id, PARTNER);
    await query(`update teams set provider_customer_id = 'cus_1'`);
    await runJob();
    expect(await planOf(id)).toMatchObject({ planName: 'Pro', providerSubscriptionId: 'sub_1' });
  });

  test('closes the grants of deleted teams, and leaves locked teams for later', async () => {
    const [gone, locked] = [await newTeam(), await newTeam()];
    await grantTo(gone, PARTNER);
    await grantTo(locked, PARTNER);
    await query('delete from teams where id = $1', [gone]);
    await expire();
    await database.transaction(async (lock) => {
      await lock('select from teams where id = $1 for update', [locked]);
      await runJob();
    });
    const open = () => query('select team_id from instep.grants where closed_at is null');
    expect(await open()).toEqual([{ team_id: String(locked) }]);
    await runJob();
    expect(await open()).toEqual([]);
    expect(await planOf(locked)).toEqual(NONE);
  });
});

describe('nothing calls it changed by hand', () => {
  test.each(['while it holds', 'when its end has come'])('%s', async (when) => {
    const [linked, ended] = [await newTeam('cus_2'), await newTeam('cus_1')];
    account.customers.set({ id: 'cus_2' });
    await happen('active', 1);
    await happen('canceled', 2);
    for (const id of [linked, ended]) await grantTo(id, PARTNER);
    if (when !== 'while it holds') await expire();
    await findByHand();
    expect((await findIssues(context).page()).issues).toEqual([]);
    const counts = await performOne(context, operator, { action: 'reconcile' });
    expect(counts).toMatchObject({ teams: 2, drifts: 0 });
    const holds = when === 'while it holds';
    const differences: Difference[] = [];
    const onDifference = (one: Difference) => void differences.push(one);
    await performOne(context, operator, { action: 'rebuild', onDifference });
    expect(differences).toMatchObject(holds ? [] : [{ teamId: ended, isKept: false }]);
    await runJob();
    expect(await planOf(linked)).toEqual(holds ? GRANTED : NONE);
    expect(await planOf(ended)).toEqual(
      holds ? GRANTED : { ...NONE, subscriptionStatus: 'canceled' },
    );
  });

  test('and a row that differs from its grant is repaired', async () => {
    const id = await newTeam('cus_2');
    account.customers.set({ id: 'cus_2' });
    await grantTo(id, PARTNER);
    await query(`update teams set provider_product_id = 'prod_by_hand'`);
    expect(await performOne(context, operator, { action: 'reconcile' })).toMatchObject({
      drifts: 1,
      repaired: 1,
    });
    expect(await planOf(id)).toEqual(GRANTED);
  });
});

describe('a plan that was written by hand', () => {
  const byHand = () =>
    query(`update teams set provider_subscription_id = null, provider_product_id = null,
                            plan_name = 'Friends', subscription_status = 'active'`);
  const keep = async (id: ApplicationId) => {
    const request = {
      action: 'keep-as-grant',
      subject: { kind: 'team', id: String(id) },
    } as const;
    return (await perform(context, operator, [request], { note: 'a friend' })).results[0]?.result;
  };

  test.each(['found by the server', 'found by a reconciliation'])(
    'can be kept as a grant (%s)',
    async (how) => {
      const id = await newTeam('cus_1');
      account.customers.set({ id: 'cus_1' });
      if (how === 'found by the server') {
        await happen('active', 1);
        await happen('canceled', 2);
      }
      await byHand();
      await findByHand();
      await performOne(context, operator, { action: 'reconcile', isDryRun: true });
      const [issue] = (await findIssues(context).page()).issues;
      expect(issue?.remedies).toContain('keep-as-grant');
      expect(await keep(id)).toMatchObject({ code: 'granted', planName: 'Friends' });
      expect((await findIssues(context).page()).issues).toEqual([]);
      expect(await readGrants(query, id)).toMatchObject([{ holds: true, reason: 'a friend' }]);
      expect(await performOne(context, operator, { action: 'reconcile' })).toMatchObject({
        drifts: 0,
      });
      expect(await planOf(id)).toEqual({ ...GRANTED, planName: 'Friends' });
    },
  );

  test('is not kept against a subscription, nor without a name', async () => {
    const id = await newTeam('cus_1');
    expect(await keep(id)).toEqual({ code: 'failed', error: 'NOTHING_TO_KEEP' });
    await happen('active', 1);
    await byHand();
    expect(await keep(id)).toEqual({ code: 'failed', error: 'TEAM_HAS_SUBSCRIPTION' });
    expect(await readGrants(query, id)).toEqual([]);
  });
});

test.each([
  ['GRANT_INVALID', { ...PARTNER, planName: ' ' }],
  ['GRANT_INVALID', { ...PARTNER, planName: 'a\0b' }],
  ['GRANT_INVALID', { ...PARTNER, reason: '' }],
  ['GRANT_INVALID', { ...PARTNER, productId: '' }],
  ['GRANT_INVALID', { ...PARTNER, until: new Date(0) }],
  ['GRANT_INVALID', { ...PARTNER, until: new Date(Number.NaN) }],
] as const)('%s for %j, and nothing is changed', async (code, request) => {
  const id = await newTeam();
  await expect(grantTo(id, request)).rejects.toMatchObject({ code });
  expect(await readGrants(query, id)).toEqual([]);
  expect(await planOf(id)).toEqual(NONE);
});

test.each(['4711', "1; drop table teams -- '"])('there is no team %j', async (id) => {
  const code = 'NOT_FOUND';
  await expect(grantTo(id, PARTNER)).rejects.toMatchObject({ code });
  await expect(revoke(id)).rejects.toMatchObject({ code });
  expect(await readGrants(query, id)).toEqual([]);
});

test('a team without a grant has none to revoke', async () => {
  const id = await newTeam();
  const call = revoke(id);
  await expect(call).rejects.toMatchObject({ code: 'NO_GRANT' });
});

test('a plan that the application refuses is not granted', async () => {
  const id = await newTeam();
  await query(`alter table teams add constraint few check (plan_name <> 'Partner')`);
  try {
    const call = grantTo(id, PARTNER);
    await expect(call).rejects.toMatchObject({ code: 'DATABASE_REFUSED' });
    expect(await readGrants(query, id)).toEqual([]);
  } finally {
    await query('alter table teams drop constraint few');
  }
});

test('a handler grants and revokes as the author that it is told', async () => {
  const secrets = { AUTH_SECRET, STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET };
  const environment = { ...account.environment, ...secrets };
  const handler = createHandler({
    environment,
    logger: createLogger('silent'),
    maintenance: 'off',
  });
  try {
    const id = await newTeam();
    const access = await handler.grant(id, { ...PARTNER, by: 'admin:3' });
    expect(access).toMatchObject({ hasAccess: true, reason: 'granted', planName: 'Partner' });
    expect(await readGrants(query, id)).toMatchObject([{ grantedBy: 'admin:3' }]);
    expect(await handler.revokeGrant(id)).toMatchObject({ hasAccess: false });
    const operators = (await findActions(context).page()).map(({ operator }) => operator);
    expect(operators).toEqual(['application', 'admin:3']);
  } finally {
    await handler.close();
  }
});

test('grants and events at the same time leave the plan that the rule says', async () => {
  for (let round = 0; round < 10; round += 1) {
    const customerId = `cus_${round}`;
    const id = await newTeam(customerId);
    const event = (status: string, seconds: number) => {
      const createdSeconds = NOW - 100 + seconds;
      return account.ingest([received(eventBody({ customerId, status, createdSeconds }))]);
    };
    await event('active', 1);
    await Promise.all([grantTo(id, PARTNER), event('canceled', 2), event('past_due', 3)]);
    expect(await planOf(id)).toEqual(GRANTED);
  }
});
