import { afterAll, expect, test } from 'vitest';
import { PostgresCluster } from '../support/postgres/postgres-cluster.ts';
import { runInstep, startInstep } from '../support/process/instep-process.ts';

const cluster = await PostgresCluster.create();
afterAll(() => cluster.remove());
await cluster.start();
await runInstep(['migrate', '--create-tables'], { DATABASE_URL: cluster.url.href });

test('exits in time while its database is frozen', async () => {
  const instep = await startInstep({ DATABASE_URL: cluster.url.href });
  expect((await fetch(`${instep.url}/readyz`)).status).toBe(200);
  const thaw = await cluster.freeze();
  const hanging = setTimeout(() => instep.process.kill('SIGKILL'), 15_000);
  expect(await instep.stop('SIGTERM')).toBe(0);
  clearTimeout(hanging);
  thaw();
});
