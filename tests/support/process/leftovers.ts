import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** The folder for the files of root's embedded PostgreSQL if its user can't enter a directory. */
const DATA_DIRECTORIES = '/var/lib/instep';

/** The time that a stopped process has to end. */
const GRACE_MS = 5_000;
const POLL_MS = 100;

/**
 * Finds everything that a test run left behind: processes that work in its temporary directory or name it,
 * files in it, and data directories of its databases. Ends and removes all of these.
 */
export async function findLeftovers(directory: string): Promise<string[]> {
  const processes = await runningIn(directory);
  for (const { pid } of processes) process.kill(pid, 'SIGKILL');
  const files = readdirSync(directory).map((name) => `file ${join(directory, name)}`);
  const moved = movedDataDirectories(directory);
  for (const path of moved) rmSync(path, { recursive: true, force: true });
  return [
    ...processes.map(({ pid, command }) => `process ${pid}: ${command}`),
    ...files,
    ...moved.map((path) => `data directory ${path}`),
  ];
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

function movedDataDirectories(directory: string): string[] {
  if (!existsSync(DATA_DIRECTORIES)) return [];
  return readdirSync(DATA_DIRECTORIES)
    .map((name) => join(DATA_DIRECTORIES, name))
    .filter((path) => {
      const madeFor = join(path, 'made-for');
      return existsSync(madeFor) && readFileSync(madeFor, 'utf8').startsWith(directory);
    });
}
