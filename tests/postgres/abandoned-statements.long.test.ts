import { DatabaseUnavailable } from 'instep-engine/postgres';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Database } from '../support/internals/database.ts';
import { PostgresCluster } from '../support/postgres/postgres-cluster.ts';
import { connect } from '../support/postgres/test-database.ts';

const CONNECTIONS = 3;
const STATEMENT_TIMEOUT_MS = 400;

function openPool(url: URL): Database {
  return connect(url, {
    // Half of them are for the statements of the log.
    maxConnections: 2 * CONNECTIONS,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
}

/** Runs this on every connection several times. Returns the errors and the maximum number of backends. */
async function hammer(
  work: () => Promise<unknown>,
  countBackends: () => Promise<number>,
): Promise<{ errors: Set<unknown>; most: number }> {
  const errors = new Set<unknown>();
  let most = 0;
  for (let wave = 0; wave < 4; wave += 1) {
    const ends = await Promise.allSettled(Array.from({ length: CONNECTIONS }, work));
    for (const end of ends) errors.add(end.status === 'rejected' ? end.reason.constructor : null);
    most = Math.max(most, await countBackends());
  }
  return { errors, most };
}

describe('without a synchronous standby', () => {
  let cluster: PostgresCluster;
  let database: Database;
  beforeAll(async () => {
    cluster = await PostgresCluster.create();
    await cluster.start();
    await cluster.ask('create table notes (text text)');
    database = openPool(cluster.url);
  });
  afterEach(() => setStandbys(''));
  afterAll(() => cluster?.remove());

  async function setStandbys(names: string): Promise<void> {
    await cluster.ask(`alter system set synchronous_standby_names = '${names}'`);
    await cluster.ask('select pg_reload_conf()');
  }

  async function countBackends(): Promise<number> {
    const rows = await cluster.ask(
      `select from pg_stat_activity
        where backend_type = 'client backend' and application_name = 'instep'`,
    );
    return rows.length;
  }

  test.each([
    ['a statement', () => database.query(`insert into notes values ('a')`)],
    [
      'a transaction',
      () => database.transaction((query) => query(`insert into notes values ('a')`)),
    ],
  ])("the backend of %s that can't be committed is ended", async (_, write) => {
    await setStandbys('nobody');
    // The setting takes effect a moment after the reload; until then a commit succeeds.
    await vi.waitFor(() => expect(write()).rejects.toThrow(DatabaseUnavailable), 20_000);
    const { errors, most } = await hammer(write, countBackends);
    expect(errors).toEqual(new Set([DatabaseUnavailable]));
    expect(most).toBeLessThanOrEqual(CONNECTIONS);
    await setStandbys('');
    await expect(write()).resolves.toEqual([]);
  });
});
