import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedPostgres } from 'instep-embedded-postgres';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startInstalledPostgres } from './postgres/installed-postgres.ts';
import { findLeftovers } from './process/leftovers.ts';
import { isComplete } from './test-length.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    postgresServers: { name: string; url: string }[];
  }
}

type Servers = { name: string; url: string }[];

/**
 * Vitest calls `setup` for each of its projects. The first call starts the servers that all of them share.
 */
const SHARED = 'INSTEP_TEST_SERVERS';

/**
 * Starts one embedded PostgreSQL for all tests and, in a complete run, also the installed PostgreSQL if the
 * machine has one. Every test works below one temporary directory, so that leftovers are found when the run
 * ends.
 */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const shared = process.env[SHARED];
  if (shared !== undefined) {
    project.provide('postgresServers', JSON.parse(shared) as Servers);
    return undefined;
  }
  const directory = mkdtempSync(join(tmpdir(), 'instep-tests-'));
  // PostgreSQL runs as a different user if root runs the tests.
  chmodSync(directory, 0o755);
  process.env.TMPDIR = directory;
  const dataFolder = mkdtempSync(join(directory, 'shared-'));
  const embedded = await openEmbeddedPostgres({ dataFolder, onNotice: () => undefined });
  const { host, port, user, database } = embedded.connection;
  const url = `postgres:///${database}?host=${encodeURIComponent(host)}&port=${port}&user=${user}`;
  await stopSyncing(url);
  const installed = isComplete ? await startInstalledPostgres() : null;
  const servers: Servers = [
    { name: 'PostgreSQL 18, embedded', url },
    ...(installed === null ? [] : [{ name: installed.name, url: installed.url }]),
  ];
  process.env[SHARED] = JSON.stringify(servers);
  project.provide('postgresServers', servers);
  return async () => {
    await installed?.stop();
    await embedded.release();
    rmSync(dataFolder, { recursive: true, force: true });
    const leftovers = await findLeftovers(directory);
    rmSync(directory, { recursive: true, force: true });
    if (leftovers.length > 0) {
      throw new Error(`the tests left behind:\n${leftovers.join('\n')}`);
    }
  };
}

/** Tests of crashes have servers of their own. Data on this one need not survive a power cut. */
async function stopSyncing(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('alter system set fsync = off');
  await client.query('alter system set full_page_writes = off');
  await client.query('select pg_reload_conf()');
  await client.end();
}
