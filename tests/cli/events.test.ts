import { SNAPSHOT_TYPE } from 'instep/operate';
import type { SubscriptionEventFields } from 'instep/testing';
import { beforeEach, expect, test } from 'vitest';
import { addTeam, readTeam } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { jsonLines, runInstep } from '../support/process/instep-process.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const { url, database } = await createDatabase();
const ingest = openPipeline(database, async () => 'Pro');

/** A log, and the command `instep events` on it. */
const log = {
  database,
  databaseUrl: url.href,
  addTeam: (customerId: string) => addTeam(database.query, { name: 'Team', customerId }),
  deliver: (fields: Partial<SubscriptionEventFields>) =>
    ingest([received(eventBody(fields), Date.now())]),
  deliverBody: (body: string) => ingest([received(body, Date.now())]),
  async positionOf(eventId: string): Promise<number> {
    const text = 'select position from instep.events where event_id = $1';
    return (await database.query<{ position: number }>(text, [eventId]))[0]?.position ?? 0;
  },
  events: (args: readonly string[]) => runInstep(['events', ...args], { DATABASE_URL: url.href }),
};

beforeEach(() =>
  log.database.query(`
    truncate teams, instep.events, instep.customers cascade;
    alter table teams drop constraint if exists never_unpaid`),
);

const DELETED = 'customer.subscription.deleted';

test('lists the newest events first, those of a customer, a team or an outcome, with their details', async () => {
  const teamId = await log.addTeam('cus_a');
  const a = { customerId: 'cus_a', createdSeconds: 200 };
  await log.deliver({ ...a, eventId: 'evt_1' });
  await log.deliver({ ...a, eventId: 'evt_2', createdSeconds: 150 });
  await log.deliver({ customerId: 'cus_nobody', eventId: 'evt_3' });
  await log.deliverBody(`{"id":"evt_4","type":"${DELETED}","data":null}`);
  const list = async (args: string) => {
    const { code, stdout } = await log.events(`list --json ${args}`.trim().split(' '));
    expect(code).toBe(0);
    return jsonLines(stdout);
  };
  const idsOf = async (args: string) => (await list(args)).map(({ eventId }) => eventId);
  expect(await idsOf('')).toEqual(['evt_4', 'evt_3', 'evt_2', 'evt_1']);
  expect(await idsOf('--limit 2')).toEqual(['evt_4', 'evt_3']);
  expect(await idsOf('--customer cus_a --limit 1')).toEqual(['evt_2']);
  expect(await idsOf(`--team ${teamId}`)).toEqual(['evt_2', 'evt_1']);
  expect(await idsOf('--outcome unreadable')).toEqual(['evt_4']);
  expect(await list('--outcome stale')).toEqual([
    {
      position: await log.positionOf('evt_2'),
      ...{ eventId: 'evt_2', type: 'customer.subscription.updated', customerId: 'cus_a' },
      ...{ subscriptionId: 'sub_1', status: 'active', createdAt: '1970-01-01T00:02:30.000Z' },
      receivedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      ...{ outcome: 'stale', deliveries: 1 },
    },
  ]);
});

test('escapes control characters in ids', async () => {
  await log.deliver({ customerId: 'cus_\u001b[2J\u202e', eventId: 'evt_\u009b1m' });
  const { stdout } = await log.events(['list', '--limit', '1']);
  expect(stdout).toMatch(/evt_\\u\{9b\}1m .*cus_\\u\{1b\}\[2J\\u\{202e\}/);
});

test('finds an event by position and prints JSON', async () => {
  const teamId = await log.addTeam('cus_j');
  await log.deliver({ customerId: 'cus_j', eventId: 'evt_paid', createdSeconds: 2_000 });
  const position = await log.positionOf('evt_paid');
  const { code, stdout } = await log.events(['show', String(position), '--json']);
  expect(code).toBe(0);
  const plan = {
    ...{ providerSubscriptionId: 'sub_1', providerProductId: 'prod_1' },
    ...{ planName: 'Pro', subscriptionStatus: 'active' },
  };
  expect(jsonLines(stdout)).toEqual([
    {
      ...{ position, eventId: 'evt_paid', type: 'customer.subscription.updated' },
      ...{ customerId: 'cus_j', subscriptionId: 'sub_1', status: 'active', productId: 'prod_1' },
      ...{ createdAt: '1970-01-01T00:33:20.000Z', receivedAt: expect.any(String) },
      ...{ outcome: 'applied', deliveries: 1, replaced: null },
      why: [expect.any(String)],
      reasons: ['newest-event'],
      ...{ before: null, after: plan, now: [{ teamId, plan }] },
    },
  ]);
});

test('--body prints the body byte for byte', async () => {
  const body = '{ "id":"evt_b", "type":"customer.subscription.deleted",\t"data": "\\u0000é" }\n';
  await log.deliverBody(body);
  const { code, stdout } = await log.events(['show', 'evt_b', '--body']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: body });
});

test('shows only the names of previous attributes', async () => {
  // The bodies contain canaries: see tests/support/secrets/test-secrets.ts.
  await log.deliver({ eventId: 'evt_canaries', previousAttributes: { metadata: { a: 1 } } });
  const { stdout } = await log.events(['show', 'evt_canaries']);
  expect(stdout).toMatch(/^replaced {8}metadata$/m);
});

test('of several events with one id, the newest is shown; an unknown one exits with 1', async () => {
  for (const status of ['active', 'unpaid']) await log.deliver({ eventId: 'evt_0', status });
  const { stdout } = await log.events(['show', 'evt_0', '--json']);
  expect(jsonLines(stdout)).toMatchObject([{ eventId: 'evt_0', status: 'unpaid' }]);
  for (const id of ['evt_none', '99999999', '99999999999999999999']) {
    const unknown = await log.events(['show', id]);
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
    expect(unknown.stderr).toMatch(new RegExp(`^instep: .*${id} \\[NOT_FOUND\\]\n$`));
  }
});

test('an event by its id or position: a decided one is a duplicate, and a snapshot is left out', async () => {
  const teamId = await log.addTeam('cus_d');
  await log.deliver({ customerId: 'cus_d', eventId: 'evt_d1', createdSeconds: 100 });
  await log.deliver({ customerId: 'cus_d', eventId: 'evt_look', createdSeconds: 200 });
  await log.database.query(`update instep.events set type = $1 where event_id = 'evt_look'`, [
    SNAPSHOT_TYPE,
  ]);
  const position = await log.positionOf('evt_d1');
  for (const id of ['evt_d1', String(position)]) {
    expect(await log.events(['replay', id])).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        new RegExp(`^${position} +evt_d1 +applied +duplicate +${teamId} +-\n$`),
      ),
      stderr: expect.stringMatching(/^1 duplicate\n/),
    });
  }
  const look = await log.events(['replay', 'evt_look']);
  expect(look).toMatchObject({ code: 0, stdout: expect.stringContaining('left out') });
});

test('parked events are applied, in order, once a team has their customer, although one is refused', async () => {
  const customerId = 'cus_p';
  await log.deliver({ customerId, eventId: 'evt_p2', createdSeconds: 200, productId: 'prod_p' });
  await log.deliver({ customerId, eventId: 'evt_p1', createdSeconds: 100, status: 'canceled' });
  await log.deliver({ customerId: 'cus_refused', eventId: 'evt_refused', status: 'unpaid' });
  const replay = () => log.events(['replay', '--outcome', 'parked', '--json']);
  const parked = { outcome: 'parked' };
  expect(jsonLines((await replay()).stdout)).toMatchObject([parked, parked, parked]);
  const teamId = await log.addTeam(customerId);
  await log.addTeam('cus_refused');
  await log.database.query(
    `alter table teams add constraint never_unpaid check (subscription_status <> 'unpaid')`,
  );
  const { code, stdout, stderr } = await replay();
  const common = { position: expect.any(Number), was: 'parked', error: null };
  expect(jsonLines(stdout)).toEqual([
    { ...common, eventId: 'evt_p2', outcome: 'applied', teamIds: [teamId] },
    { ...common, eventId: 'evt_p1', outcome: 'stale', teamIds: [teamId] },
    expect.objectContaining({
      ...{ eventId: 'evt_refused', error: expect.stringContaining('never_unpaid') },
    }),
  ]);
  expect(code).toBe(1);
  expect(stderr).toContain('[REPLAY_FAILED]');
});

const bodiesOf = async (customerId: string): Promise<string[]> => {
  const rows = await log.database.query<{ body: Uint8Array }>(
    'select body from instep.events where customer_id = $1 order by position',
    [customerId],
  );
  return rows.map(({ body }) => new TextDecoder().decode(body));
};

test('removes personal data of one customer, however many events there are, and changes no team', async () => {
  const teamId = await log.addTeam('cus_redacted');
  const personal = { previousAttributes: { description: 'for Ada Lovelace' } };
  for (let second = 1; second <= 201; second += 1) {
    const event = { eventId: `evt_${second}`, createdSeconds: second, ...personal };
    await log.deliver({ customerId: 'cus_redacted', ...event });
  }
  await log.deliver({ customerId: 'cus_other', ...personal });
  const before = await readTeam(log.database.query, teamId);
  const other = await bodiesOf('cus_other');

  const redact = () => log.events(['redact', '--customer', 'cus_redacted', '--json']);
  expect(jsonLines((await redact()).stdout)).toEqual([{ customer: 'cus_redacted', redacted: 201 }]);
  const bodies = await bodiesOf('cus_redacted');
  expect(bodies.join()).not.toContain('Lovelace');
  expect(bodies[0]).toMatch(/"description":"redacted_[0-9a-f]{16}"/);
  expect(await bodiesOf('cus_other')).toEqual(other);
  expect((await redact()).code).toBe(0);
  expect(await bodiesOf('cus_redacted')).toEqual(bodies);

  // The same event, when it arrives late.
  await log.deliver({
    ...{ customerId: 'cus_redacted', eventId: 'evt_1', createdSeconds: 1, ...personal },
  });
  expect(await bodiesOf('cus_redacted')).toHaveLength(201);
  expect(await readTeam(log.database.query, teamId)).toEqual(before);
  const rebuilt = await runInstep(['rebuild', '--dry-run'], { DATABASE_URL: log.databaseUrl });
  expect(rebuilt).toEqual({ code: 0, stdout: '', stderr: 'found 0, failed 0\n' });
});

async function rebuild(...args: string[]) {
  const ended = await runInstep(['rebuild', ...args], { DATABASE_URL: log.databaseUrl });
  expect(ended.code, ended.stderr).toBe(0);
  return ended;
}

test('reports and repairs a plan that the team had before', async () => {
  const teamId = await log.addTeam('cus_1');
  const planOf = async () => (await readTeam(log.database.query, teamId))?.plan;
  await log.deliver({ customerId: 'cus_1', createdSeconds: 100 });
  const former = await planOf();
  const ended = { subscriptionId: 'sub_2', createdSeconds: 200, status: 'canceled' };
  await log.deliver({ customerId: 'cus_1', ...ended });
  const right = await planOf();
  await log.database.query(
    `update teams
        set provider_subscription_id = 'sub_1', provider_product_id = 'prod_1',
            plan_name = 'Pro', subscription_status = 'active'
      where id = $1`,
    [teamId],
  );
  const dry = await rebuild('--dry-run', '--team', String(teamId));
  expect(dry.stdout).toContain('subscriptionStatus active → canceled');
  expect(await planOf()).toEqual(former);
  const repaired = await rebuild('--json');
  expect(repaired.stderr).toBe('repaired 1, failed 0\n');
  expect(jsonLines(repaired.stdout)).toMatchObject([{ teamId, is: former, shouldBe: right }]);
  expect(await planOf()).toEqual(right);
  expect(await rebuild()).toMatchObject({ stdout: '', stderr: 'repaired 0, failed 0\n' });
});
