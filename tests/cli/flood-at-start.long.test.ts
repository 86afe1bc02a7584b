import { spawnSync } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { canLimit } from '../faults/limited-server.ts';
import { openConnection } from '../support/network/raw-connection.ts';
import { startProxy } from '../support/network/tcp-proxy.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { freePort } from '../support/process/free-port.ts';
import { SETTINGS, spawnInstep } from '../support/process/instep-process.ts';

const OPEN_FILES = 256;

test.skipIf(!canLimit())('loads the console while a flood holds every connection', async () => {
  const database = await createDatabase();
  const proxy = await startProxy(database.url);
  onTestFinished(() => proxy.close());
  await proxy.become('refuse');
  const port = await freePort();
  const instep = spawnInstep(['serve'], {
    ...SETTINGS,
    PORT: String(port),
    OPS_PORT: '0',
    DATABASE_URL: proxy.url.href,
  });
  spawnSync('prlimit', [`--pid=${instep.process.pid}`, `--nofile=${OPEN_FILES}`]);
  await instep.writes(/waiting for the database/);
  for (let count = 0; count < OPEN_FILES; count += 1) {
    const connection = openConnection(`http://127.0.0.1:${port}`);
    onTestFinished(() => connection.destroy());
  }
  await instep.writes(/too many connections/);

  await proxy.become('forward');
  await instep.writes(/operations listening/);
  expect(await instep.stop('SIGTERM')).toBe(0);
});
