import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { openEmbeddedPostgres } from '../../src/postgres/embedded/embedded-postgres.ts';
import { startInstalledPostgres } from './postgres/installed-postgres.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    postgresServers: { name: string; url: string }[];
  }
}

/** One PostgreSQL for all tests, embedded, and a second one where the machine has it installed. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataFolder = mkdtempSync(join(tmpdir(), 'instep-tests-'));
  const embedded = await openEmbeddedPostgres({ dataFolder, notice: () => undefined });
  const { host, port, user, database } = embedded.connection;
  const url = `postgres:///${database}?host=${encodeURIComponent(host)}&port=${port}&user=${user}`;
  const installed = await startInstalledPostgres();
  project.provide('postgresServers', [
    { name: 'PostgreSQL 18, embedded', url },
    ...(installed === null ? [] : [{ name: installed.name, url: installed.url }]),
  ]);
  return async () => {
    installed?.stop();
    await embedded.release();
    rmSync(dataFolder, { recursive: true, force: true });
  };
}
