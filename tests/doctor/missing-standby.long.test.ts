import { afterAll, expect, test } from 'vitest';
import { PostgresCluster } from '../support/postgres/postgres-cluster.ts';
import { runInstep } from '../support/process/instep-process.ts';
import { openExaminedAccount } from '../support/stripe/examined-account.ts';

const cluster = await PostgresCluster.create();
afterAll(() => cluster.remove());
await cluster.start();
await runInstep(['migrate', '--create-tables'], { DATABASE_URL: cluster.url.href });
// It sees that there are standbys, but not their states.
await cluster.ask('create role viewer login in role pg_read_all_data');

test('a missing synchronous standby is an issue', async () => {
  const account = await openExaminedAccount();
  const { href } = Object.assign(new URL(cluster.url), { username: 'viewer' });
  const codes = async () =>
    (await account.examine({ DATABASE_URL: href })).checks.map(({ code }) => code);
  expect(await codes()).not.toContain('writes-not-committed');
  await cluster.ask("alter system set synchronous_standby_names = 'nobody'");
  await cluster.ask('select pg_reload_conf()');
  expect(await codes()).toContain('writes-not-committed');
});
