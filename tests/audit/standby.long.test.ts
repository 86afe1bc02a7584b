import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PostgresCluster } from '../support/postgres/postgres-cluster.ts';
import { startPair } from '../support/postgres/primary-and-standby.ts';
import { openApp } from './audited-app.ts';

let primary: PostgresCluster;
let standby: PostgresCluster;
beforeAll(async () => {
  [primary, standby] = await startPair();
});
afterAll(async () => {
  await standby?.remove();
  await primary?.remove();
});

test('a hot standby is as good as its primary', async () => {
  const app = await openApp('saas-starter', { name: 'primary', url: primary.url.href });
  await app.sql(`
    insert into teams (name, stripe_customer_id, stripe_product_id, subscription_status)
    select 'x', 'cus_' || id, 'prod_pro', 'active' from generate_series(1, 5000) as id`);
  app.subscribe('cus_1');
  for (let id = 2; id <= 5_000; id += 1) app.subscribe(`cus_${id}`, { status: 'canceled' });
  const [{ position } = { position: '' }] = await primary.ask<{ position: string }>(
    'select pg_current_wal_insert_lsn()::text as position',
  );
  const replayed = `select pg_last_wal_replay_lsn() >= '${position}' as "isReplayed"`;
  while (!(await standby.ask<{ isReplayed: boolean }>(replayed))[0]?.isReplayed) await sleep(20);
  const url = new URL(standby.url);
  url.pathname = app.url.pathname;
  const counts = { customers: 5_000, right: 5_000, ownPlans: 4_999 };
  const ended = await app.audit(['--json'], { DATABASE_URL: url.href });
  expect(ended.stderr).toBe('');
  expect(JSON.parse(ended.stdout)).toMatchObject({ counts });
});
