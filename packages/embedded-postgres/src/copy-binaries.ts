import { randomBytes } from 'node:crypto';
import { chmod, copyFile, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createLinks } from './postgres-package.ts';
import { publishDirectory, syncDirectory } from './publish-directory.ts';

/** Only compilers need these. */
const LEFT_OUT = /\.a$|^native\/lib\/(?:pkgconfig|postgresql\/pgxs)\//;

const CONCURRENT_COPIES = 16;

/**
 * Copies the package's programs, libraries and data files to `path`, readable by every user and with
 * all links. The copy is complete and on the disk before it appears at `path`; if two processes copy
 * at the same time, one copy stays.
 */
export async function copyBinaries(packageFolder: string, path: string): Promise<void> {
  await makeReadable(dirname(path));
  const copy = `${path}.new-${randomBytes(8).toString('hex')}`;
  try {
    await copyTree(packageFolder, copy);
    await createLinks(copy);
  } catch (error) {
    await rm(copy, { recursive: true, force: true });
    throw error;
  }
  await publishDirectory(copy, path);
}

async function copyTree(from: string, to: string): Promise<void> {
  const options = { recursive: true, withFileTypes: true } as const;
  const entries = (await readdir(join(from, 'native'), options))
    .map((entry) => ({ entry, path: join(entry.parentPath.slice(from.length + 1), entry.name) }))
    .filter(({ entry, path }) => !LEFT_OUT.test(entry.isDirectory() ? `${path}/` : path));
  const directories = entries.filter(({ entry }) => entry.isDirectory()).map(({ path }) => path);
  const paths = ['', 'native', ...directories.sort()].map((path) => join(to, path));
  for (const path of paths) await makeReadable(path);
  const files = entries.filter(({ entry }) => entry.isFile()).values();
  const worker = async () => {
    for (const { path } of files) await copyDurably(join(from, path), join(to, path));
  };
  await Promise.all(Array.from({ length: CONCURRENT_COPIES }, worker));
  for (const path of paths) await syncDirectory(path);
}

/** A power cut must not leave half a library, since an existing copy is never checked again. */
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

async function makeReadable(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await chmod(directory, 0o755);
}
