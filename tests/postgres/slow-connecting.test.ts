import { test, vi } from 'vitest';
import { openDatabase, type Query } from '../../src/postgres/database.ts';
import { startProxy } from '../support/network/tcp-proxy.ts';
import { createEmptyDatabase } from '../support/postgres/test-database.ts';

const CONNECTIONS = 2;

/** Connecting is then in time, but not together with the look whether the server can write. */
const SLOW_MS = 600;

test('a connection that came too late for who waited for it goes to who comes next', async () => {
  const proxy = await startProxy(await createEmptyDatabase(), { slowMs: SLOW_MS });
  const database = openDatabase({
    connections: [{ connectionString: proxy.url.href }],
    maxConnections: CONNECTIONS,
    statementTimeoutMs: 5_000,
    onConnectionError: () => undefined,
  });
  // One connection is idle, so that whoever comes waits for it, and one of them then for another.
  await database.query('select 1');
  await proxy.become('slow');
  const ask = () => database.query('select 1');
  await Promise.allSettled(Array.from({ length: CONNECTIONS }, ask));
  await proxy.become('forward');

  // Each waits for the others, so that they need all connections at once.
  let left = CONNECTIONS;
  const meet = async (query: Query) => {
    await query('select 1');
    left -= 1;
    await vi.waitUntil(() => left === 0);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, () => database.transaction(meet)));
  await database.close();
  await proxy.close();
});
