import { readFile, rm, stat } from 'node:fs/promises';
import { identifyProcess, type ProcessIdentity } from './process-identity.ts';
import { systemErrorCode } from './system-error-code.ts';

/** So long after it was made, a lock file with nothing in it is what a power cut left. */
const EMPTY_IS_STALE_AFTER_MS = 5_000;

/** Whom one of PostgreSQL's lock files names. */
export type LockHolder = {
  readonly pid: number;
  /** The cluster that it serves, by the path that it was started with. */
  readonly cluster: string;
  readonly identity: ProcessIdentity;
};

/**
 * Reads a lock file of PostgreSQL (`postmaster.pid` in the cluster, `.lock` beside the socket) and
 * looks at the process that it names. `undefined` when there is no file, or nothing in it yet.
 */
export async function readLockHolder(path: string): Promise<LockHolder | undefined> {
  const content = await readIfThere(path);
  return content === undefined ? undefined : findHolder(content);
}

/**
 * Deletes a lock file that names no living server, though PostgreSQL may take it for one: its
 * process id has gone to another process, or to one that has ended and was never waited for.
 * Should a server begin at this very moment and its file be taken, PostgreSQL's second lock, on
 * shared memory, still keeps any other out of the cluster.
 */
export async function removeStaleLock(path: string): Promise<void> {
  const content = await readIfThere(path);
  if (content === undefined) return;
  const holder = await findHolder(content);
  const isStale =
    holder === undefined
      ? await isOlderThan(path, EMPTY_IS_STALE_AFTER_MS)
      : holder.identity === 'other' || holder.identity === 'gone';
  if (!isStale) return;
  // A server may have begun since we read it.
  if ((await readIfThere(path)) === content) await rm(path, { force: true });
}

async function findHolder(content: string): Promise<LockHolder | undefined> {
  const [first, cluster] = content.split('\n');
  // A single-user server writes its process id with a minus sign.
  const pid = Math.abs(Number.parseInt(first ?? '', 10));
  if (!Number.isSafeInteger(pid) || pid === 0 || !cluster) return undefined;
  return { pid, cluster, identity: await identifyProcess(pid, cluster) };
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function isOlderThan(path: string, ageMs: number): Promise<boolean> {
  try {
    return Date.now() - (await stat(path)).mtimeMs > ageMs;
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return false;
    throw error;
  }
}
