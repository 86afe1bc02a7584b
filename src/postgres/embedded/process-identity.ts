import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { basename, isAbsolute, resolve } from 'node:path';
import { promisify } from 'node:util';
import { systemErrorCode } from './system-error-code.ts';

/**
 * What a process is to a cluster: its server, another program, one that has ended (and keeps its id
 * until its parent has waited for it), gone, or not for us to see.
 */
export type ProcessIdentity = 'server' | 'other' | 'ended' | 'gone' | 'unknown';

/**
 * Tells whether process `pid` is the server of the cluster, by the command line that it was
 * started with. A process id alone proves nothing: the system gives it to another process later,
 * and in another container it is another process from the first.
 */
export async function identifyProcess(pid: number, cluster: string): Promise<ProcessIdentity> {
  if (process.platform !== 'linux') return identifyByPs(pid, cluster);
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
  const named = words[words.indexOf('-D') + 1] ?? '';
  // One that was started by hand may name its cluster in another way.
  if (!words.includes('-D') || !isAbsolute(named)) return 'server';
  return resolve(named) === resolve(cluster) ? 'server' : 'other';
}

async function identifyByPs(pid: number, cluster: string): Promise<ProcessIdentity> {
  if (!canBeServer(pid)) return 'gone';
  try {
    const { stdout } = await promisify(execFile)('/bin/ps', ['-ww', '-o', 'args=', '-p', `${pid}`]);
    if (stdout.trim() === '' || stdout.includes('<defunct>')) return 'ended';
    return /\bpostgres\b/.test(stdout) && stdout.includes(`-D ${cluster}`) ? 'server' : 'other';
  } catch {
    // `ps` exits with 1 when there is no such process any more.
    return canBeServer(pid) ? 'unknown' : 'gone';
  }
}

function canBeServer(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: there is one, but of another user than us, who are the server's user, or root.
    if (systemErrorCode(error) === 'ESRCH' || systemErrorCode(error) === 'EPERM') return false;
    throw error;
  }
}
