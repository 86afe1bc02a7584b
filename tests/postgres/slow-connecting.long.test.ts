import { expect, test, vi } from 'vitest';
import { startProxy } from '../support/network/tcp-proxy.ts';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';

const CONNECTIONS = 2;

/** Connecting succeeds in time, but not together with the check that the server is writable. */
const SLOW_MS = 600;

test('slow connecting loses no connection of the pool', async () => {
  const proxy = await startProxy(await createEmptyDatabase(), { slowMs: SLOW_MS });
  const database = connect(proxy.url, {
    // Half of them are for the statements of the log.
    maxConnections: 2 * CONNECTIONS,
    statementTimeoutMs: 5_000,
  });
  // With one idle connection, one of the two callers waits for a new one.
  await database.query('select 1');
  await proxy.become('slow');
  // The machine decides whether they are in time. In either case no connection is lost.
  await Promise.allSettled(Array.from({ length: CONNECTIONS }, () => database.query('select 1')));
  await proxy.become('forward');

  // The transactions wait for each other, so they need all connections at the same time.
  const pids = new Set<number>();
  const meet = () =>
    database.transaction(async (query) => {
      const [row] = await query<{ pid: number }>('select pg_backend_pid() as pid');
      if (row !== undefined) pids.add(row.pid);
      await vi.waitUntil(() => pids.size === CONNECTIONS, { timeout: 4_000 });
    });
  await Promise.all(Array.from({ length: CONNECTIONS }, meet));
  expect(database.poolUse()).toEqual({ total: CONNECTIONS, idle: CONNECTIONS, waiting: 0 });
  await proxy.close();
});
