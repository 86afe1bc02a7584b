import {
  eventNamed,
  explainEvent,
  explainTeam,
  findTeams,
  openContext,
  teamNamed,
} from 'instep/operate';
import { beforeAll, expect, test } from 'vitest';
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

test('finds events by id or position, and explains them', async () => {
  const event = await eventNamed(context, 'evt_2');
  expect(event).toMatchObject({ eventId: 'evt_2', outcome: 'applied' });
  expect(await eventNamed(context, String(event?.position))).toEqual(event);
  expect(await eventNamed(context, 'evt_3')).toBeNull();
  expect(await eventNamed(context, '9'.repeat(30))).toBeNull();
  if (event === null) throw new Error('not found');
  expect(await explainEvent(context, event)).toMatchObject({
    reasons: [{ code: 'newest-event' }],
    teams: [{ id: acme }],
  });
});

test('explains why a team has no plan, by the subscription that decides it', async () => {
  const explained = await explainTeam(context, acme);
  expect(explained).toMatchObject({
    status: {
      kind: 'lost plan',
      deciding: { subscription: { subscriptionId: 'sub_1' }, status: 'canceled' },
    },
    subscriptions: [
      { subscription: { subscriptionId: 'sub_1' }, order: 'known', isDeciding: true },
    ],
    issues: [],
  });
  expect(explained?.timeline.rows).toHaveLength(2);
  expect((await explainTeam(context, other))?.status).toEqual({ kind: 'unlinked' });
  expect(await explainTeam(context, 'no such id')).toBeNull();
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
