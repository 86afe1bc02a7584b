import { DatabaseBusy, DatabaseUnavailable } from 'instep-engine/postgres';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Database, openDatabase, parseDatabaseUrl } from '../support/internals/database.ts';
import { PostgresCluster } from '../support/postgres/postgres-cluster.ts';
import {
  connect,
  createEmptyDatabase,
  postgresServers,
} from '../support/postgres/test-database.ts';

const CONNECTIONS = 3;
const STATEMENT_TIMEOUT_MS = 400;

function openPool(url: URL): Database {
  return openDatabase({
    connection: parseDatabaseUrl(url.href).connection,
    // Half of them are for the statements of the log.
    maxConnections: 2 * CONNECTIONS,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onConnectionError: () => undefined,
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

describe.each(postgresServers)('$name', (server) => {
  let operator: Database;
  let database: Database;
  beforeAll(async () => {
    const url = await createEmptyDatabase(server);
    operator = connect(url);
    database = openPool(url);
    await operator.query('create table notes (text text)');
  });
  afterAll(async () => {
    await database?.close();
    await operator?.close();
  });

  async function countBackends(): Promise<number> {
    const rows = await operator.query(
      `select from pg_stat_activity
        where datname = current_database() and query like '%/* ours */%'
          and pid <> pg_backend_pid()`,
    );
    return rows.length;
  }

  test.each([
    ['a statement', () => database.query('select from notes /* ours */')],
    [
      'a statement with values',
      () => database.query('select from notes where text = $1 /* ours */', ['a']),
    ],
    ['a transaction', () => database.transaction((query) => query('select from notes /* ours */'))],
  ])('%s that waits for a lock also ends on the server', async (_, work) => {
    await operator.transaction(async (query) => {
      await query('lock table notes in access exclusive mode');
      const { errors, most } = await hammer(work, countBackends);
      expect(errors).toEqual(new Set([DatabaseBusy]));
      expect(most).toBeLessThanOrEqual(CONNECTIONS);
    });
    expect(database.poolUse()).toMatchObject({ idle: CONNECTIONS, waiting: 0 });
  });

  test('a statement that takes too long is ended by the server', async () => {
    const { errors } = await hammer(() => database.query('select pg_sleep(60)'), countBackends);
    expect(errors).toEqual(new Set([DatabaseBusy]));
  });
});

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
  afterAll(async () => {
    await database?.close();
    await cluster?.remove();
  });

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
