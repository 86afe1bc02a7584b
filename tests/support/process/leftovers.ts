import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** The time that a stopped process has to end. */
const GRACE_MS = 5_000;
const POLL_MS = 100;

/**
 * Finds everything that a test run left behind: processes that work in its temporary directory or name it,
 * and files in it. Ends the processes.
 */
export async function findLeftovers(directory: string): Promise<string[]> {
  const processes = await runningIn(directory);
  for (const { pid } of processes) process.kill(pid, 'SIGKILL');
  const files = readdirSync(directory).map((name) => `file ${join(directory, name)}`);
  return [...processes.map(({ pid, command }) => `process ${pid}: ${command}`), ...files];
}

type Process = { readonly pid: number; readonly command: string };

async function runningIn(directory: string): Promise<Process[]> {
  const giveUpAtMs = performance.now() + GRACE_MS;
  let found = processesOf(directory);
  while (found.length > 0 && performance.now() < giveUpAtMs) {
    await sleep(POLL_MS);
    found = processesOf(directory);
  }
  return found;
}

/** Finds processes only on systems that show them as files. */
function processesOf(directory: string): Process[] {
  if (!existsSync('/proc/self/cmdline')) return [];
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      const workingDirectory = readlinkSync(`/proc/${pid}/cwd`);
      const isOurs = command.includes(directory) || workingDirectory.startsWith(directory);
      return isOurs ? [{ pid, command }] : [];
    } catch {
      // The process has ended meanwhile, or belongs to another user.
      return [];
    }
  });
}
