import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { migrateByNewer, undoNewer } from '../../support/postgres/test-database.ts';
import { type BalancedServers, startBalancedServers } from '../balanced-servers.ts';
import { type Scenario, turnsOf } from '../scenario.ts';

/** Longer than a result of `/readyz` is valid. */
const READY_MS = 1_500;
const ASK_INTERVAL_MS = 100;
const LOG = 'instep.events';
const EVENTS_DURING_BACKUP = 100;

const MIGRATION = `
  alter table ${LOG} add column tomorrow text;
  create index events_tomorrow on ${LOG} (tomorrow) where tomorrow is not null`;

export const rollingUpgrade: Scenario = {
  fault:
    'behind two servers and a load balancer that checks /readyz, a newer version adds an indexed column to ' +
    'the event log while a backup reads the log; then the two are replaced in turn',
  promise:
    'no request is refused, this version stays ready and can start on the newer schema, and each ' +
    'server exits with 0',
  times: { short: 1, long: 50 },
  async run(options) {
    const servers = await startBalancedServers();
    for (const _ of turnsOf(options)) {
      const backup = startBackup(servers);
      await migrateByNewer(servers.database, 'additive', MIGRATION);
      await backup;
      for (let replaced = 0; replaced < 2; replaced += 1) {
        await expectReady(servers);
        await servers.start();
        await servers.stopOldest();
      }
      await undoNewer(servers.database, `alter table ${LOG} drop column tomorrow`);
    }
    return { upgrades: options.times, ...(await servers.finish()) };
  },
};

/** Keeps the lock of a backup, until a migration has waited for it and events have passed the migration. */
async function startBackup({ database, untilMore }: BalancedServers): Promise<void> {
  await database.transaction(async (query) => {
    await query(`lock table ${LOG} in access share mode`);
    await vi.waitFor(async () => {
      const waiting = `select from pg_locks where relation = '${LOG}'::regclass and not granted`;
      expect(await database.query(waiting)).not.toEqual([]);
    });
    await untilMore(EVENTS_DURING_BACKUP);
  });
}

/** Every server is ready on the newer schema. */
async function expectReady({ running }: BalancedServers): Promise<void> {
  const untilMs = performance.now() + READY_MS;
  while (performance.now() < untilMs) {
    for (const { url } of running) expect((await fetch(`${url}/readyz`)).status).toBe(200);
    await sleep(ASK_INTERVAL_MS);
  }
}
