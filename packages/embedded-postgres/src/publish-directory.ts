import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemErrorCode } from './errors.ts';

/** How `rename` reports that the name is in use. */
const NAME_IN_USE = ['ENOTEMPTY', 'EEXIST', 'ENOTDIR'];

/**
 * Gives a finished directory its final name in the same parent, atomically, so that other processes see all
 * of it or nothing. If another process was first, `finished` is deleted. It must not be empty, since `rename`
 * replaces an empty directory without an error.
 */
export async function publishDirectory(finished: string, path: string): Promise<void> {
  try {
    await rename(finished, path);
  } catch (error) {
    await rm(finished, { recursive: true, force: true });
    if (!NAME_IN_USE.includes(systemErrorCode(error))) throw error;
    return;
  }
  await syncPath(dirname(path));
}

/** Makes sure that a file's content, or the names in a directory, survive a power cut. */
export async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
