import type { ApplicationId } from 'instep';
import { expect, test } from 'vitest';
import { runInstep } from '../support/process/instep-process.ts';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const service = useService();

async function rebuild(args: readonly string[], environment: Record<string, string> = {}) {
  const DATABASE_URL = service.databaseUrl;
  const ended = await runInstep(['rebuild', ...args], { DATABASE_URL, ...environment });
  expect(ended.code, ended.stderr).toBe(0);
  return { lines: ended.stdout.split('\n').filter((line) => line !== ''), stderr: ended.stderr };
}

/** A team whose newest event ended one subscription while another one is live. */
async function teamWithHistory(): Promise<ApplicationId> {
  const { teamId, customerId } = await service.addTeam();
  const mine = { customerId, subscriptionId: 'sub_mine', createdSeconds: 100 };
  const other = { customerId, subscriptionId: 'sub_other', createdSeconds: 200 };
  const previousAttributes = { status: 'trialing' };
  for (const fields of [
    { ...mine, status: 'trialing' },
    { ...mine, status: 'active', previousAttributes },
    { ...other, status: 'canceled' },
    { ...other, status: 'active', createdSeconds: 150 },
  ]) {
    await service.postSigned(eventBody(fields));
  }
  return teamId;
}

test('reports and repairs a plan that the team had before', async () => {
  const teamId = await teamWithHistory();
  const before = await service.planOf(teamId);
  await service.database.query(
    `update teams
        set provider_subscription_id = 'sub_mine', provider_product_id = 'prod_1',
            plan_name = 'Pro', subscription_status = 'active'
      where id = $1`,
    [teamId],
  );
  const { lines } = await rebuild(['--dry-run', '--team', String(teamId)]);
  expect(lines).toEqual([expect.stringContaining('subscriptionStatus active → canceled')]);
  expect(await service.planOf(teamId)).toMatchObject({ planName: 'Pro' });
  const repaired = await rebuild(['--json']);
  expect(repaired.stderr).toBe('repaired 1, kept 0, failed 0\n');
  expect(repaired.lines.map((line) => JSON.parse(line))).toMatchObject([
    { teamId, is: { planName: 'Pro' }, shouldBe: { subscriptionStatus: 'canceled' } },
  ]);
  expect(await service.planOf(teamId)).toEqual(before);
  expect(await rebuild([])).toEqual({ lines: [], stderr: 'repaired 0, kept 0, failed 0\n' });
});
