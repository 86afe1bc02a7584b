import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { PostgresCluster } from '../../tests/support/postgres/postgres-cluster.ts';

export type Ask = <Row extends pg.QueryResultRow>(
  statement: string,
  values?: readonly unknown[],
) => Promise<Row[]>;

/** The PostgreSQL server of a run, with a database for each system. */
export type BenchPostgres = {
  readonly version: string;
  /** The server's main process; `null` for an external server. */
  readonly pid: number | null;
  /** Creates an empty database, replacing one with this name. */
  create(name: string): Promise<BenchDatabase>;
  /** The database with this name, or an empty one. On an external server it remains. */
  open(name: string): Promise<BenchDatabase>;
  close(): Promise<void>;
};

export type BenchDatabase = {
  readonly url: string;
  readonly ask: Ask;
  /** Writes everything to disk, so that earlier work does not slow down a measurement. */
  checkpoint(): Promise<void>;
  close(): Promise<void>;
};

/** Uses the server at `url`, or starts one with `settings`, which ends when it is closed. */
export async function openBenchPostgres(
  url: string | undefined,
  settings: readonly string[],
): Promise<BenchPostgres> {
  if (url !== undefined) return await connectTo({ url: new URL(url), pid: null, cluster: null });
  const cluster = await PostgresCluster.create();
  appendFileSync(join(cluster.folder, 'postgresql.conf'), `${settings.join('\n')}\n`);
  await cluster.start();
  const pid = Number.parseInt(readFileSync(join(cluster.folder, 'postmaster.pid'), 'utf8'), 10);
  // Clean up if the process ends early.
  process.once('exit', () => {
    if (cluster.isRunning) process.kill(pid, 'SIGQUIT');
    rmSync(join(cluster.folder, '..'), { recursive: true, force: true, maxRetries: RETRIES });
  });
  return await connectTo({ url: cluster.url, pid, cluster });
}

/** The server's processes can still write while they end. */
const RETRIES = 10;

type Server = {
  readonly url: URL;
  readonly pid: number | null;
  /** `null` for an external server. */
  readonly cluster: PostgresCluster | null;
};

async function connectTo({ url: server, pid, cluster }: Server): Promise<BenchPostgres> {
  const pool = openPool(server.href);
  const databases = new Map<string, BenchDatabase>();
  const { rows } = await pool.query<{ version: string }>(
    `select current_setting('server_version') as version`,
  );
  const drop = async (name: string) => {
    await databases.get(name)?.close();
    databases.delete(name);
    await pool.query(`drop database if exists ${name} with (force)`);
  };
  const nameOf = (system: string) => `bench_${system.replaceAll('-', '_')}`;
  const connectToDatabase = (name: string) => {
    const url = new URL(server);
    url.pathname = `/${name}`;
    return openBenchDatabase(url.href);
  };
  const opened: BenchDatabase[] = [];
  return {
    version: rows[0]?.version ?? '',
    pid,
    async create(system) {
      const name = nameOf(system);
      await drop(name);
      await pool.query(`create database ${name}`);
      const database = connectToDatabase(name);
      databases.set(name, database);
      return database;
    },
    async open(system) {
      const name = nameOf(system);
      const known = await pool.query('select from pg_database where datname = $1', [name]);
      if (known.rowCount === 0) await pool.query(`create database ${name}`);
      const database = connectToDatabase(name);
      opened.push(database);
      return database;
    },
    async close() {
      for (const database of opened) await database.close();
      for (const name of [...databases.keys()]) await drop(name);
      await pool.end();
      await cluster?.end('SIGINT');
      await cluster?.remove();
    },
  };
}

function openPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  // An idle connection can end with its database. Any other failure fails a statement.
  pool.on('error', () => undefined);
  return pool;
}

function openBenchDatabase(url: string): BenchDatabase {
  const pool = openPool(url);
  return {
    url,
    ask: async <Row extends pg.QueryResultRow>(statement: string, values?: readonly unknown[]) =>
      (await pool.query<Row>(statement, values === undefined ? undefined : [...values])).rows,
    async checkpoint() {
      await pool.query('checkpoint');
    },
    close: () => pool.end(),
  };
}
