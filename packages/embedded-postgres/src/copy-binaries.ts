import { randomBytes } from 'node:crypto';
import { chmod, cp, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createLinks } from './postgres-package.ts';
import { publishDirectory, syncPath } from './publish-directory.ts';

/**
 * Copies the package's programs, libraries and data files to `path`, readable by every user and with
 * all links. The copy is complete and on the disk before it appears at `path`; if two processes copy
 * at the same time, one copy stays.
 */
export async function copyBinaries(packageFolder: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await makeReadable(dirname(path));
  const copy = `${path}.new-${randomBytes(8).toString('hex')}`;
  const native = join(copy, 'native');
  try {
    await cp(join(packageFolder, 'native'), native, { recursive: true, verbatimSymlinks: true });
    const entries = await readdir(native, { recursive: true, withFileTypes: true });
    const copied = entries.filter((entry) => !entry.isSymbolicLink());
    const paths = [copy, native, ...copied.map(({ parentPath, name }) => join(parentPath, name))];
    for (const each of paths) await makeReadable(each);
    await createLinks(copy);
    // A power cut must not leave half a library, since an existing copy is never checked again.
    for (const each of paths) await syncPath(each);
  } catch (error) {
    await rm(copy, { recursive: true, force: true });
    throw error;
  }
  await publishDirectory(copy, path);
}

async function makeReadable(path: string): Promise<void> {
  const { mode } = await stat(path);
  await chmod(path, (mode & 0o100) === 0 ? 0o644 : 0o755);
}
