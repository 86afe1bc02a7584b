import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres, startInstalledPostgres } from './postgres/shared-postgres.ts';
import { createTemplate } from './postgres/template.ts';
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
  // Not in the temporary directory of macOS, whose path is too long for the sockets of databases.
  const directory = mkdtempSync('/tmp/instep-tests-');
  // PostgreSQL runs as a different user if root runs the tests.
  chmodSync(directory, 0o755);
  process.env.TMPDIR = directory;
  const embedded = await startEmbeddedPostgres();
  const installed = isComplete ? await startInstalledPostgres() : null;
  const running = [embedded, ...(installed === null ? [] : [installed])];
  const servers: Servers = running.map(({ name, cluster }) => ({ name, url: cluster.url.href }));
  await Promise.all(servers.map(({ url }) => createTemplate(url)));
  process.env[SHARED] = JSON.stringify(servers);
  project.provide('postgresServers', servers);
  return async () => {
    for (const { cluster } of running) {
      await cluster.end('SIGINT');
      await cluster.remove();
    }
    const leftovers = await findLeftovers(directory);
    rmSync(directory, { recursive: true, force: true });
    if (leftovers.length > 0) {
      throw new Error(`the tests left behind:\n${leftovers.join('\n')}`);
    }
  };
}
