import { type FileHandle, open, readFile } from 'node:fs/promises';
import { identifyProcess, type ProcessIdentity } from './process-identity.ts';
import { systemErrorCode } from './system-error-code.ts';

/** So long after it was made, a lock file with nothing in it is what a power cut left. */
const EMPTY_IS_STALE_AFTER_MS = 5_000;

/** The highest number there is for a process id; no system goes so far. */
const NOBODY_PID = 2_147_483_647;

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
 * Mends a lock file that names no living server, though PostgreSQL may take it for one: its process
 * id has gone to another process, or to one that has ended and was never waited for. In its place
 * goes an id that no process can have; the rest stays, by which PostgreSQL finds out whether
 * children of a server that was killed still use the cluster's shared memory.
 *
 * What was read and what is written is one and the same file: should a server make its own
 * meanwhile, that one is never touched.
 */
export async function mendStaleLock(path: string): Promise<void> {
  const file = await openIfThere(path);
  if (file === undefined) return;
  try {
    const content = await file.readFile('utf8');
    const holder = await findHolder(content);
    const isStale =
      holder === undefined
        ? Date.now() - (await file.stat()).mtimeMs > EMPTY_IS_STALE_AFTER_MS
        : holder.identity === 'other' || holder.identity === 'ended';
    if (isStale) await file.write(content.replace(/^[^\n]*\n?/, `${NOBODY_PID}\n`), 0);
  } finally {
    await file.close();
  }
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

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r+');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
