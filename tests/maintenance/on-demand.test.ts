import { once } from 'node:events';
import { createHandler, createLogger } from 'instep';
import { expect, onTestFinished, test } from 'vitest';
import { createOnDemandMaintenance, openMaintenance } from '../support/internals/repair.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { SETTINGS } from '../support/process/instep-process.ts';

test('a job that uses up the budget keeps no other from running', async () => {
  const ran: string[] = [];
  const slow = {
    name: 'slow',
    intervalMs: 0,
    async run(signal: AbortSignal) {
      ran.push('slow');
      await once(signal, 'abort');
    },
  };
  const quick = { name: 'quick', intervalMs: 0, run: async () => void ran.push('quick') };
  const maintenance = createOnDemandMaintenance(async () => [slow, quick], {
    logger: createLogger('silent'),
  });
  for (let count = 0; count < 2; count += 1) await maintenance.runDue(20);
  expect(ran).toEqual(['slow', 'quick', 'slow']);
});

test('a job runs no more often than at its interval, however often maintenance is called', async () => {
  const ran: string[] = [];
  const jobOf = (name: string, intervalMs: number) => {
    return { name, intervalMs, run: async () => void ran.push(name) };
  };
  const maintenance = createOnDemandMaintenance(
    async () => [jobOf('seldom', 60_000), jobOf('always', 0)],
    { logger: createLogger('silent') },
  );
  for (let count = 0; count < 3; count += 1) await maintenance.runDue(1_000);
  expect(ran).toEqual(['seldom', 'always', 'always', 'always']);
});

test('maintenance in the background runs no job twice when an app calls for it', async () => {
  let runs = 0;
  const job = {
    ...{ name: 'counted', intervalMs: 60_000 },
    async run() {
      runs += 1;
    },
  };
  const maintenance = openMaintenance(false, async () => [job], { logger: createLogger('silent') });
  await expect.poll(() => runs, { timeout: 15_000 }).toBe(1);
  await maintenance.runDue(5_000);
  expect(runs).toBe(1);
  await maintenance.stop();
});

async function openOnDemand() {
  const { database, url } = await createDatabase();
  const handler = createHandler({
    environment: { ...SETTINGS, DATABASE_URL: url.href },
    logger: createLogger('silent'),
    maintenance: 'on-demand',
  });
  onTestFinished(() => handler.close());
  return { database, handler };
}

test('consumers of changes run in it, and only there', async () => {
  const { database, handler } = await openOnDemand();
  const passed: unknown[] = [];
  const feed = handler.onPlanChange('mailer', ({ teamId }) => void passed.push(teamId), {
    from: 'beginning',
  });
  const write = (teamId: number) =>
    database.query(
      `insert into instep.plan_changes (team_id, cause, plan_name_after) values ($1, 'event', 'Pro')`,
      [String(teamId)],
    );
  await write(7);
  await handler.runMaintenance(20_000);
  expect(passed).toEqual([7]);
  await write(8);
  expect(await handler.planChanges({ teamId: 8 })).toMatchObject([{ after: { planName: 'Pro' } }]);
  expect(passed).toEqual([7]);
  await handler.runMaintenance(20_000);
  expect(passed).toEqual([7, 8]);
  await feed.stop();
  await write(9);
  await handler.runMaintenance(20_000);
  expect(passed).toEqual([7, 8]);
});

test('a consumer that fails in the database keeps no other from running', async () => {
  const { database, handler } = await openOnDemand();
  await database.query(
    `alter table instep.waiting_plan_changes add check (job not like '%broken')`,
  );
  await database.query(
    `insert into instep.plan_changes (team_id, cause, plan_name_after) values ('7', 'event', 'Pro')`,
  );
  const passed: string[] = [];
  for (const name of ['broken', 'mailer']) {
    handler.onPlanChange(name, () => void passed.push(name), { from: 'beginning' });
  }
  await handler.runMaintenance(20_000);
  // The changes for the other one could not even be taken.
  expect(passed).toEqual(['mailer']);
});
