import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemErrorCode } from './system-error-code.ts';

/** How `rename` says that something is there already. */
const TAKEN = new Set(['ENOTEMPTY', 'EEXIST', 'ENOTDIR']);

/**
 * Gives a finished folder its final name in the same parent, in one step: whoever looks sees all
 * of it or nothing. When another process was first, ours is deleted. The folder must not be empty,
 * since an empty one is silently replaced.
 * @returns whether ours is the one that is there now
 */
export async function publishFolder(finished: string, path: string): Promise<boolean> {
  try {
    await rename(finished, path);
  } catch (error) {
    await rm(finished, { recursive: true, force: true });
    if (!TAKEN.has(systemErrorCode(error))) throw error;
    return false;
  }
  await syncFolder(dirname(path));
  return true;
}

/** Makes the names in a folder survive a power cut. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
