import { execFile } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import { basename, isAbsolute, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ifExists, systemErrorCode } from './errors.ts';

/** A lock file that is still empty after this time was left by a power cut. */
const EMPTY_IS_STALE_AFTER_MS = 5_000;

/** The highest possible process id, which no system uses. */
const UNUSED_PID = 2_147_483_647;

/**
 * The relation of a process to a cluster: its server, another program, ended (but still with its id, because
 * its parent has not waited for it), gone, or not visible to this process.
 */
type ProcessIdentity = 'server' | 'other' | 'ended' | 'gone' | 'unknown';

/** The process that one of PostgreSQL's lock files names. */
type LockHolder = {
  readonly pid: number;
  /** The path of its cluster, as given when it was started. */
  readonly cluster: string;
  readonly identity: ProcessIdentity;
};

/**
 * Reads a lock file of PostgreSQL (`postmaster.pid` in the cluster, `.lock` beside the socket) and
 * identifies the process that it names. `undefined` when there is no file, or no content yet.
 */
export async function readLockHolder(path: string): Promise<LockHolder | undefined> {
  const content = await ifExists(readFile(path, 'utf8'));
  return content === undefined ? undefined : await findHolder(content);
}

/**
 * Repairs a lock file that PostgreSQL could mistake for that of a running server: its process id now belongs
 * to another process, or to one that has ended. The id is replaced by one that no process has. The rest
 * stays, because PostgreSQL uses it to find out whether children of a killed server still use the cluster's
 * shared memory.
 *
 * It reads and writes the same open file, so that it never touches the lock file of a server that starts
 * meanwhile.
 */
export async function repairStaleLock(path: string): Promise<void> {
  const file = await ifExists(open(path, 'r+'));
  if (file === undefined) return;
  try {
    const content = await file.readFile('utf8');
    const holder = await findHolder(content);
    const isStale =
      holder === undefined
        ? Date.now() - (await file.stat()).mtimeMs > EMPTY_IS_STALE_AFTER_MS
        : holder.identity === 'other' || holder.identity === 'ended';
    if (isStale) await file.write(content.replace(/^[^\n]*\n?/, `${UNUSED_PID}\n`), 0);
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

/**
 * Determines by its command line whether process `pid` is the server of the cluster. A process id alone
 * proves nothing: the system reuses it, and another container has other processes.
 */
export async function identifyProcess(pid: number, cluster: string): Promise<ProcessIdentity> {
  if (process.platform !== 'linux') return await identifyByPs(pid, cluster);
  let commandLine: string;
  try {
    commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8');
  } catch (error) {
    if (!['ENOENT', 'ESRCH', 'EACCES'].includes(systemErrorCode(error))) throw error;
    return canBeServer(pid) ? 'unknown' : 'gone';
  }
  if (commandLine === '') return 'ended';
  const words = commandLine.split('\0');
  if (basename(words[0] ?? '') !== 'postgres') return 'other';
  const option = words.indexOf('-D');
  const directory = words[option + 1] ?? '';
  // A server that was started by hand can specify its cluster in another way.
  if (option === -1 || !isAbsolute(directory)) return 'server';
  return resolve(directory) === resolve(cluster) ? 'server' : 'other';
}

async function identifyByPs(pid: number, cluster: string): Promise<ProcessIdentity> {
  if (!canBeServer(pid)) return 'gone';
  try {
    const { stdout } = await promisify(execFile)('/bin/ps', ['-ww', '-o', 'args=', '-p', `${pid}`]);
    if (stdout.trim() === '' || stdout.includes('<defunct>')) return 'ended';
    return /\bpostgres\b/.test(stdout) && stdout.includes(`-D ${cluster}`) ? 'server' : 'other';
  } catch {
    // `ps` exits with 1 when the process is gone.
    return canBeServer(pid) ? 'unknown' : 'gone';
  }
}

function canBeServer(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it belongs to another user, while this process is the server's user, or root.
    if (['ESRCH', 'EPERM'].includes(systemErrorCode(error))) return false;
    throw error;
  }
}
