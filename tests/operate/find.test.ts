import {
  eventsNamed,
  explainEvent,
  explainTeam,
  findCustomers,
  findEvents,
  findTeams,
  openContext,
  readReconciliation,
  readTeam,
  teamNamed,
} from 'instep/operate';
import { beforeAll, expect, test } from 'vitest';
import { collect } from '../support/collect.ts';
import { openOperatedAccount } from '../support/stripe/operated-account.ts';

const { account, context, query, newTeam } = await openOperatedAccount();
const [acme, other] = [await newTeam('Acme', 'cus_1'), await newTeam('Other')];

beforeAll(async () => {
  const fields = { customerId: 'cus_1', subscriptionId: 'sub_1', productId: 'prod_pro' };
  const createdSeconds = Math.floor(Date.now() / 1_000) - 600;
  await account.happen({ ...fields, eventId: 'evt_1', createdSeconds });
  const end = { status: 'canceled', createdSeconds: createdSeconds + 60 };
  await account.happen({ ...fields, eventId: 'evt_2', ...end });
});

test('finds teams page by page, and exports all of them', async () => {
  const first = await findTeams(context).page({ limit: 1 });
  expect(first).toMatchObject({ rows: [{ id: acme }], next: acme, previous: null });
  const second = await findTeams(context).page({ limit: 1, start: { side: 'after', key: acme } });
  expect(second).toMatchObject({ rows: [{ id: other }], next: null });
  expect((await collect(findTeams(context).all())).map(({ id }) => id)).toEqual([acme, other]);
});

test('reads a team with the plan that it lost', async () => {
  expect(await readTeam(context, acme)).toMatchObject({
    ...{ id: acme, name: 'Acme', customerId: 'cus_1' },
    plan: { subscriptionStatus: 'canceled' },
    lostPlan: { productId: 'prod_pro', planName: 'Pro' },
  });
  expect(await readTeam(context, 'no such id')).toBeNull();
});

test('finds the customer of a subscription', async () => {
  const { customerIds, teams } = await findCustomers(context, 'sub_1');
  expect(customerIds).toContain('cus_1');
  expect(teams).toMatchObject([{ id: acme }]);
});

test('finds events by id or position, and explains them', async () => {
  const [event] = await eventsNamed(context, 'evt_2');
  expect(event).toMatchObject({ eventId: 'evt_2', outcome: 'applied' });
  expect(await eventsNamed(context, String(event?.position))).toMatchObject([{ eventId: 'evt_2' }]);
  expect(await eventsNamed(context, 'evt_3')).toEqual([]);
  expect(await eventsNamed(context, '9'.repeat(30))).toEqual([]);
  if (event === undefined) throw new Error('not found');
  expect(await explainEvent(context, event)).toMatchObject({
    reasons: [{ code: 'newest-event' }],
    teams: [{ id: acme }],
  });
});

test('reads events newest first, and exports them in either order', async () => {
  const { rows, next } = await findEvents(context).page({ limit: 1 });
  expect(rows).toMatchObject([{ eventId: 'evt_2' }]);
  expect(next).toBe(rows[0]?.position);
  const oldestFirst = await collect(findEvents(context, {}, 'oldest first').all());
  expect(oldestFirst.map(({ eventId }) => eventId)).toEqual(['evt_1', 'evt_2']);
});

test('explains why a team has no plan, by the subscription that decides it', async () => {
  const explained = await explainTeam(context, acme);
  expect(explained).toMatchObject({
    status: { kind: 'lost plan', deciding: { subscriptionId: 'sub_1', status: 'canceled' } },
    subscriptions: [
      { subscription: { subscriptionId: 'sub_1' }, order: 'known', isDeciding: true },
    ],
    issues: [],
  });
  expect(explained?.timeline.items).toHaveLength(2);
  expect((await explainTeam(context, other))?.status).toEqual({ kind: 'unlinked' });
  expect(await explainTeam(context, 'no such id')).toBeNull();
});

test('there is no reconciliation before the first one', async () => {
  const none = { isRunning: false, progress: null, endedAtMs: null };
  expect(await readReconciliation(context)).toEqual(none);
});

test('an environment without a usable configuration is refused', async () => {
  await expect(openContext({ environment: {} })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});

test('finds teams by the email address of a person', async () => {
  expect((await findTeams(context, { text: 'ada@example.com' }).page()).rows).toEqual([]);
  await query(`create table "TeamMember" ("userId" integer, "teamId" integer)`);
  await query(`insert into users (id, email, password_hash) values (1, 'ada@example.com', '')`);
  await query(`insert into "TeamMember" values (1, $1), (1, $2)`, [acme, other]);
  const own = await openContext({ environment: account.environment });
  const found = await findTeams(own, { text: 'Ada@example.com' }).page();
  expect(found.rows).toMatchObject([{ id: acme }, { id: other }]);
  const filter = { text: 'ada@example.com', status: 'canceled' };
  expect((await findTeams(own, filter).page()).rows).toMatchObject([{ id: acme }]);
  const byText = findTeams(own, { text: 'bob@example.com' });
  expect(await byText.page()).toMatchObject({ rows: [] });
  expect(await teamNamed(own, 'ada@example.com')).toMatchObject({ code: 'several-teams' });
  await own.close();
  // Declared by other names, which must be there.
  const tables = (members: object) => ({
    ...account.environment,
    INSTEP_TABLES: JSON.stringify({ members }),
  });
  await query(
    'alter table "TeamMember" rename to people; alter table people rename "userId" to who',
  );
  const columns = { userId: 'who' };
  const declared = await openContext({ environment: tables({ table: 'people', columns }) });
  expect((await findTeams(declared, filter).page()).rows).toMatchObject([{ id: acme }]);
  await declared.close();
  const wrong = await openContext({ environment: tables({ table: 'nobody' }) });
  await expect(findTeams(wrong).page()).rejects.toMatchObject({ code: 'APPLICATION_TABLES_UNFIT' });
  await wrong.close();
});
