import { expect, test } from 'vitest';
import { readTeam } from '../support/internals/rows.ts';
import { runInstep } from '../support/process/instep-process.ts';
import { jsonLines, useLog } from '../support/service/log-service.ts';

const log = useLog();

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
