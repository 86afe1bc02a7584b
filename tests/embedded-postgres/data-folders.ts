import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openEmbeddedPostgres } from 'instep-embedded-postgres';
import { findInaccessible } from 'instep-embedded-postgres/src/data-directory.ts';
import { afterAll, afterEach } from 'vitest';
import { InstepProcess } from './instep-process.ts';

const run = promisify(execFile);

const folders: string[] = [];
let template: { folder: string; dataFolder: string } | undefined;

/** A folder for one test, which every user can enter. It is deleted afterward, with its servers. */
export async function makeFolder(): Promise<string> {
  const folder = await makeOpenFolder();
  folders.push(folder);
  return folder;
}

/** A data folder with an empty database: a copy, which is much faster than a new one. */
export async function makeDatabase(): Promise<string> {
  template ??= await makeTemplate();
  const dataFolder = join(await makeFolder(), 'data');
  await run('/bin/cp', ['-a', template.dataFolder, dataFolder]);
  return dataFolder;
}

/** Removes the processes, servers and folders of the tests of a file. */
export function cleanUp(): void {
  afterEach(async () => {
    await InstepProcess.killAll();
    for (const folder of folders.splice(0)) {
      for (const data of await dataFoldersIn(folder)) await deleteDatabase(data);
      await rm(folder, { recursive: true, force: true });
    }
  });
  afterAll(async () => {
    if (template !== undefined) await rm(template.folder, { recursive: true, force: true });
    // The next file of this worker has the same modules.
    template = undefined;
  });
}

/** A folder that every user can enter; the caller deletes it. */
export async function makeOpenFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'instep-test-')));
  await chmod(folder, 0o755);
  return folder;
}

const UNPRIVILEGED = { uid: 65_534, gid: 65_534, isSwitched: true };

/**
 * Whether PostgreSQL's user can run the programs in their installed folder. If they are below root's home
 * directory, each database has a copy of them.
 */
export const areProgramsOpen =
  process.getuid?.() !== 0 ||
  (await findInaccessible(import.meta.dirname, UNPRIVILEGED)) === undefined;

async function makeTemplate(): Promise<{ folder: string; dataFolder: string }> {
  const folder = await makeOpenFolder();
  const dataFolder = join(folder, 'data');
  const postgres = await openEmbeddedPostgres({ dataFolder, onNotice: () => undefined });
  await postgres.release();
  await rm(join(dataFolder, 'postgres', 'binaries'), { recursive: true, force: true });
  return { folder, dataFolder };
}

/** The process id of the server of a data folder, from PostgreSQL's own lock file. */
export async function serverPid(dataFolder: string): Promise<number> {
  const pid = await findServerPid(dataFolder);
  if (pid === undefined) throw new Error(`no server runs in ${dataFolder}`);
  return pid;
}

/** Whether a data folder has a server, according to its lock file. */
export async function hasServer(dataFolder: string): Promise<boolean> {
  return (await findServerPid(dataFolder)) !== undefined;
}

async function findServerPid(dataFolder: string): Promise<number | undefined> {
  try {
    const lock = await readFile(join(dataFolder, 'postgres', 'cluster', 'postmaster.pid'), 'utf8');
    const pid = Number.parseInt(lock, 10);
    return Number.isNaN(pid) ? undefined : pid;
  } catch {
    return undefined;
  }
}

/** kill -9 of PostgreSQL. */
export async function killServer(dataFolder: string): Promise<void> {
  const pid = await serverPid(dataFolder);
  process.kill(pid, 'SIGKILL');
  await waitForEnd(pid);
}

/** Whether a process exists and has not ended. */
export async function isRunning(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
    // A process that is ending, or whose parent has not waited for it, has no command line.
    return process.platform !== 'linux' || (await readFile(`/proc/${pid}/cmdline`, 'utf8')) !== '';
  } catch {
    return false;
  }
}

/** Deletes a data folder and, where they are elsewhere, its files. */
export async function deleteDatabase(dataFolder: string): Promise<void> {
  const pid = await findServerPid(dataFolder);
  if (pid !== undefined && (await isRunning(pid))) {
    process.kill(pid, 'SIGCONT');
    process.kill(pid, 'SIGQUIT');
    await waitForEnd(pid);
  }
  const dataDirectory = await realpath(join(dataFolder, 'postgres')).catch(() => undefined);
  if (dataDirectory !== undefined) {
    await rm(dataDirectory, { recursive: true, force: true });
  }
  await rm(dataFolder, { recursive: true, force: true });
}

const END_DEADLINE_MS = 30_000;

/** Waits until a process has ended. @throws when it is still running after the deadline */
export async function waitForEnd(pid: number): Promise<void> {
  const giveUpAtMs = performance.now() + END_DEADLINE_MS;
  while (await isRunning(pid)) {
    if (performance.now() > giveUpAtMs) throw new Error(`process ${pid} is still running`);
    await sleep(10);
  }
}

async function dataFoldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  if (entries.some(({ name }) => name === 'postgres')) return [folder];
  const folders = entries.filter((entry) => entry.isDirectory() && entry.name !== 'node_modules');
  return (await Promise.all(folders.map(({ name }) => dataFoldersIn(join(folder, name))))).flat();
}
