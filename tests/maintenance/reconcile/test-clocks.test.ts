import { expect, test } from 'vitest';
import { openAccount } from '../../support/stripe/reconciled-account.ts';
import { someOf } from '../../support/test-length.ts';

const account = await openAccount();

const NOW_SECONDS = Math.floor(Date.now() / 1_000);
const YEAR_SECONDS = 365 * 24 * 60 * 60;

let customers = 0;

/** A team whose customer belongs to a test clock, so that Stripe's lists leave it out. */
async function arrange() {
  customers += 1;
  const customerId = `cus_clock_${customers}`;
  const subscriptionId = `sub_clock_${customers}`;
  const fields = { customerId, subscriptionId, productId: 'prod_pro', testClockId: 'clock_1' };
  const happen = async (more: object, how?: 'missed') => {
    await account.happen({ ...fields, ...more }, how);
    account.customers.set({ id: customerId, test_clock: 'clock_1' });
  };
  return { teamId: await account.addTeam(customerId), happen };
}

const statusOf = async (teamId: Awaited<ReturnType<typeof account.addTeam>>) =>
  (await account.planOf(teamId))?.plan.subscriptionStatus;

test('the team of a test clock is compared, and its customer is known', async () => {
  const { teamId, happen } = await arrange();
  await happen({ createdSeconds: NOW_SECONDS - 60 });
  // It ends in the simulated future.
  await happen({ createdSeconds: NOW_SECONDS + YEAR_SECONDS, status: 'canceled' }, 'missed');
  const { lines } = await account.reconcile();
  expect(lines.join()).not.toContain('unknown');
  expect(await statusOf(teamId)).toBe('canceled');
  // A real event comes later.
  await happen({ createdSeconds: NOW_SECONDS + 60 });
  expect(await statusOf(teamId)).toBe('active');
});

test('a team whose plan only the app knows is found once', async () => {
  const { teamId, happen } = await arrange();
  await happen({ createdSeconds: NOW_SECONDS }, 'missed');
  await account.database.query(
    `update teams set plan_name = 'Gold', subscription_status = 'trialing' where id = $1`,
    [teamId],
  );
  const { lines } = await account.reconcile('--dry-run', '--json');
  const drifts = lines.filter((line) => line.includes('"kind":"drift"'));
  expect(drifts).toHaveLength(1);
});

test.each([
  ['a test clock', 'clock_1'],
  ['a wrong clock', undefined],
])('an event from the far future of %s outranks no comparison', async (_, testClockId) => {
  const { teamId, happen } = await arrange();
  await happen({ testClockId, createdSeconds: NOW_SECONDS + YEAR_SECONDS });
  for (const status of someOf(3, ['canceled', 'active', 'canceled', 'unpaid', 'trialing'])) {
    await happen({ testClockId, createdSeconds: NOW_SECONDS, status }, 'missed');
    await account.reconcile();
    expect(await statusOf(teamId)).toBe(status);
  }
});
