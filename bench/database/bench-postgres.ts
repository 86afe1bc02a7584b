import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { PostgresCluster } from '../../tests/support/postgres/postgres-cluster.ts';

export type Ask = <Row extends pg.QueryResultRow>(
  statement: string,
  values?: readonly unknown[],
) => Promise<Row[]>;

/** The one PostgreSQL of a run, with a database for each contestant. */
export type BenchPostgres = {
  readonly version: string;
  /** The process whose children do the work; `null` when it is not ours. */
  readonly pid: number | null;
  /** Makes an empty database, in the place of one of this name. */
  create(name: string): Promise<BenchDatabase>;
  /** The database of this name, or an empty one. On a server of somebody else's it stays there. */
  open(name: string): Promise<BenchDatabase>;
  close(): Promise<void>;
};

export type BenchDatabase = {
  readonly url: string;
  readonly ask: Ask;
  /** Leaves nothing to be written of what was done before. */
  checkpoint(): Promise<void>;
  close(): Promise<void>;
};

/** Uses the server at `url`, or brings one up that goes when it is closed. */
export async function openBenchPostgres(url: string | undefined): Promise<BenchPostgres> {
  if (url !== undefined) return await connectTo({ url: new URL(url), pid: null, cluster: null });
  const cluster = await PostgresCluster.create();
  await cluster.start();
  const pid = Number.parseInt(readFileSync(join(cluster.folder, 'postmaster.pid'), 'utf8'), 10);
  // Nothing of ours stays when we are ended before our time.
  process.once('exit', () => {
    if (cluster.isRunning) process.kill(pid, 'SIGQUIT');
    rmSync(join(cluster.folder, '..'), { recursive: true, force: true, maxRetries: RETRIES });
  });
  return await connectTo({ url: cluster.url, pid, cluster });
}

/** Its processes may still write while they end. */
const RETRIES = 10;

type Server = {
  readonly url: URL;
  readonly pid: number | null;
  /** `null` when it is not ours. */
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
  const nameOf = (contestant: string) => `bench_${contestant.replaceAll('-', '_')}`;
  const connectToDatabase = (name: string) => {
    const url = new URL(server);
    url.pathname = `/${name}`;
    return openBenchDatabase(url.href);
  };
  const opened: BenchDatabase[] = [];
  return {
    version: rows[0]?.version ?? '',
    pid,
    async create(contestant) {
      const name = nameOf(contestant);
      await drop(name);
      await pool.query(`create database ${name}`);
      const database = connectToDatabase(name);
      databases.set(name, database);
      return database;
    },
    async open(contestant) {
      const name = nameOf(contestant);
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
  // An idle connection may end with its database. What fails otherwise fails a statement.
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
