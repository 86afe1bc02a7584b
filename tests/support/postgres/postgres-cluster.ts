import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Binaries, prepareBinaries } from 'instep-embedded-postgres/src/binaries.ts';
import { createCluster, DATABASE, USER } from 'instep-embedded-postgres/src/cluster.ts';
import { findPostgresPackage } from 'instep-embedded-postgres/src/postgres-package.ts';
import { spawnOptions } from 'instep-embedded-postgres/src/run-program.ts';
import { type ServerUser, userOfNewCluster } from 'instep-embedded-postgres/src/server-user.ts';
import pg from 'pg';
import { freePort } from '../process/free-port.ts';
import { DATABASE_PASSWORD } from '../secrets/test-secrets.ts';

const run = promisify(execFile);

const WHO_MAY_CONNECT = [
  'local all all trust',
  'host all all 127.0.0.1/32 trust',
  'host replication all 127.0.0.1/32 trust',
];
const START_DEADLINE_MS = 30_000;
const ASK_TIMEOUT_MS = 20_000;

export type ClusterOptions = {
  /** Its programs; by default, those of the package from npm. */
  readonly binaries?: Binaries;
  /** The folder of another package from npm. */
  readonly packageFolder?: string;
  /** Whether it listens on a socket in its folder, and on no port. */
  readonly hasSocket?: boolean;
  readonly settings?: readonly string[];
};

/** A PostgreSQL server that a test can kill, freeze and copy. */
export class PostgresCluster {
  readonly folder: string;
  /** On loopback; 0 without one. */
  readonly port: number;
  readonly #postgres: string;
  readonly #user: ServerUser;
  readonly #settings: readonly string[];
  #process: ChildProcess | null = null;

  private constructor(
    folder: string,
    port: number,
    { postgres, user, settings }: { postgres: string; user: ServerUser; settings: string[] },
  ) {
    this.folder = folder;
    this.port = port;
    this.#postgres = postgres;
    this.#user = user;
    this.#settings = settings;
  }

  /** Creates an empty, stopped server in a new folder below this one. */
  static async create(home = tmpdir(), options: ClusterOptions = {}): Promise<PostgresCluster> {
    const user = userOfNewCluster();
    const parent = mkdtempSync(join(home, 'instep-cluster-'));
    chmodSync(parent, 0o755);
    const found = await findPostgresPackage();
    const folder = join(parent, 'cluster');
    const installed = { ...found, folder: options.packageFolder ?? found.folder };
    const binaries = options.binaries ?? (await prepareBinaries(installed, parent, user));
    await createCluster(folder, binaries, user);
    writeFileSync(join(folder, 'pg_hba.conf'), `${WHO_MAY_CONNECT.join('\n')}\n`);
    appendFileSync(join(folder, 'postgresql.conf'), "unix_socket_directories = ''\n");
    const port = options.hasSocket ? 0 : await freePort();
    const place = options.hasSocket
      ? ['listen_addresses=', `unix_socket_directories=${folder}`]
      : ['listen_addresses=127.0.0.1', `port=${port}`, 'wal_keep_size=256MB'];
    const settings = [...place, ...(options.settings ?? [])];
    return new PostgresCluster(folder, port, { postgres: binaries.postgres, user, settings });
  }

  /** Replaces this server with a running standby of the primary. */
  async follow(primary: PostgresCluster): Promise<void> {
    await this.end('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
    const backup = new pg.Client({ connectionString: primary.url.href });
    await backup.connect();
    await backup.query("select pg_backup_start('standby', fast => true)");
    // Files that are deleted during the copy make `cp` fail, and are not needed.
    await run('/bin/cp', ['-a', primary.folder, this.folder]).catch(() => undefined);
    const { rows } = await backup.query('select labelfile from pg_backup_stop(false)');
    await backup.end();
    for (const name of readdirSync(join(this.folder, 'pg_wal'))) {
      rmSync(join(this.folder, 'pg_wal', name), { recursive: true });
    }
    rmSync(join(this.folder, 'postmaster.pid'), { force: true });
    this.#write('backup_label', rows[0].labelfile);
    this.#write('standby.signal', '');
    appendFileSync(
      join(this.folder, 'postgresql.auto.conf'),
      `primary_conninfo = 'host=127.0.0.1 port=${primary.port} user=${USER}'\n`,
    );
    await this.start();
  }

  /** From its next start on, it offers TLS with this certificate. */
  offerTls(certificates: string, key: string): void {
    this.#write('server.crt', certificates);
    this.#write('server.key', key);
    chmodSync(join(this.folder, 'server.key'), 0o600);
    appendFileSync(join(this.folder, 'postgresql.conf'), 'ssl = on\n');
  }

  get url(): URL {
    if (this.port === 0) {
      return new URL(
        `postgres:///${DATABASE}?host=${encodeURIComponent(this.folder)}&user=${USER}`,
      );
    }
    return new URL(`postgres://${USER}:${DATABASE_PASSWORD}@127.0.0.1:${this.port}/${DATABASE}`);
  }

  get isRunning(): boolean {
    return this.#process?.exitCode === null && this.#process.signalCode === null;
  }

  /** Starts the server, and waits until it answers. After a kill it recovers first. */
  async start(): Promise<void> {
    const giveUpAtMs = Date.now() + START_DEADLINE_MS;
    // Children of a killed server can hold its memory for a moment.
    while (Date.now() < giveUpAtMs) {
      const child = this.#spawn();
      this.#process = child;
      while (child.exitCode === null && child.signalCode === null && Date.now() < giveUpAtMs) {
        if (await this.#answers()) return;
        await sleep(20);
      }
    }
    throw new Error('PostgreSQL does not start');
  }

  /** Sends the server this signal, and waits until it has exited. */
  async end(signal: 'SIGKILL' | 'SIGINT' | 'SIGTERM'): Promise<void> {
    const child = this.#process;
    if (child === null || !this.isRunning) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  /** Freezes all processes of the server. The returned function resumes them. */
  async freeze(): Promise<() => void> {
    const rows = await this.ask<{ pid: number }>('select pid from pg_stat_activity');
    const pids = [this.#process?.pid, ...rows.map(({ pid }) => pid)].filter((pid) => pid != null);
    const signalAll = (signal: NodeJS.Signals) => {
      for (const pid of pids) {
        try {
          process.kill(pid, signal);
        } catch (error) {
          // The process of a connection can have ended by itself.
          if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
        }
      }
    };
    signalAll('SIGSTOP');
    return () => signalAll('SIGCONT');
  }

  /** Runs one statement on a new connection. */
  async ask<Row extends pg.QueryResultRow>(statement: string): Promise<Row[]> {
    const client = new pg.Client({
      connectionString: this.url.href,
      connectionTimeoutMillis: ASK_TIMEOUT_MS,
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query<Row>(statement)).rows;
    } finally {
      await client.end();
    }
  }

  async remove(): Promise<void> {
    await this.end('SIGKILL');
    rmSync(dirname(this.folder), { recursive: true, force: true });
  }

  #write(name: string, text: string): void {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    if (this.#user.isSwitched) chownSync(path, this.#user.uid, this.#user.gid);
  }

  #spawn(): ChildProcess {
    const options = this.#settings.flatMap((setting) => ['-c', setting]);
    return spawn(this.#postgres, ['-D', this.folder, ...options], {
      ...spawnOptions(this.#user),
      stdio: 'ignore',
    });
  }

  async #answers(): Promise<boolean> {
    try {
      await this.ask('select 1');
      return true;
    } catch {
      return false;
    }
  }
}
