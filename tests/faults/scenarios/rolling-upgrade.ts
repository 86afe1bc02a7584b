import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { createNextVersion, currentVersion } from '../../support/process/next-version.ts';
import { type BalancedServers, startBalancedServers } from '../balanced-servers.ts';
import { type Scenario, turnsOf } from '../scenario.ts';

/** Longer than a result of `/readyz` is valid. */
const READY_MS = 1_500;
const ASK_INTERVAL_MS = 100;
const LOG = 'instep.events';
const EVENTS_DURING_BACKUP = 100;

export const rollingUpgrade: Scenario = {
  fault:
    'two servers behind a load balancer that checks /readyz are replaced in turn by a newer version, ' +
    'whose migration adds an indexed column to the event log while a backup reads the log; the ' +
    'upgrade is rolled back halfway, and then completed',
  promise:
    'no request is refused, the old version stays ready and can start on the newer schema, and each ' +
    'server exits with 0',
  times: { short: 1, long: 50 },
  async run(options) {
    const servers = await startBalancedServers();
    let version = currentVersion;
    for (const _ of turnsOf(options)) {
      const next = createNextVersion(version);
      const backup = startBackup(servers);
      for (const started of [next, version, next, next]) {
        await servers.start(started);
        await backup;
        expect(await readSchema(servers)).toBe(next.schema);
        await expectReady(servers);
        await servers.stopOldest();
      }
      version = next;
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

async function readSchema({ database }: BalancedServers): Promise<number | undefined> {
  const statement = 'select max(version) as version from instep.migrations';
  const [newest] = await database.query<{ version: number }>(statement);
  return newest?.version;
}

/** Every server, of either version, is ready on the same schema. */
async function expectReady({ running }: BalancedServers): Promise<void> {
  const untilMs = performance.now() + READY_MS;
  while (performance.now() < untilMs) {
    for (const { url } of running) expect((await fetch(`${url}/readyz`)).status).toBe(200);
    await sleep(ASK_INTERVAL_MS);
  }
}
