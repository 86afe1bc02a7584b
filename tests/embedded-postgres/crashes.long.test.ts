import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedPostgres } from 'instep-embedded-postgres';
import { SOCKET_NAME } from 'instep-embedded-postgres/src/paths.ts';
import { userOfNewCluster } from 'instep-embedded-postgres/src/server-user.ts';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { readNotes, writeNote } from './ask.ts';
import {
  cleanUp,
  hasServer,
  isRunning,
  killServer,
  makeDatabase,
  serverPid,
  waitForEnd,
} from './data-folders.ts';
import { InstepProcess } from './instep-process.ts';

const onNotice = () => undefined;

cleanUp();
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** A process that PostgreSQL would take for a server by its process id alone. */
async function startBystander(): Promise<number> {
  const { uid, gid, isSwitched } = userOfNewCluster();
  const bystander = spawn('/bin/sleep', ['60'], isSwitched ? { uid, gid } : {});
  await once(bystander, 'spawn');
  onTestFinished(() => {
    bystander.kill('SIGKILL');
  });
  if (bystander.pid === undefined) throw new Error('it was not started');
  return bystander.pid;
}

describe('after a crash', () => {
  it('opens the database of a killed process, with every acknowledged write', async () => {
    const dataFolder = await makeDatabase();
    const killed = new InstepProcess(dataFolder);
    const { connection } = await killed.open();
    await writeNote(connection, 'acknowledged');
    await killed.kill();

    const postgres = await openEmbeddedPostgres({ dataFolder, onNotice });
    expect(await readNotes(postgres.connection)).toEqual(['acknowledged']);
    await postgres.release();
    expect(await hasServer(dataFolder)).toBe(false);
  });

  it('stops the server after its last process was killed', async () => {
    const dataFolder = await makeDatabase();
    const processes = [new InstepProcess(dataFolder), new InstepProcess(dataFolder)];
    const [first] = await Promise.all(processes.map((each) => each.open()));
    const pid = await serverPid(dataFolder);
    await processes[0]?.kill();
    if (first !== undefined) await writeNote(first.connection, 'still running');
    await processes[1]?.kill();
    await waitForEnd(pid);
    expect(await hasServer(dataFolder)).toBe(false);
  });

  it('stops the server when its process is killed during the start', async () => {
    const dataFolder = await makeDatabase();
    const starting = new InstepProcess(dataFolder);
    const opened = starting.open().catch(() => 'failed');
    while (!(await hasServer(dataFolder))) await sleep(1);
    const pid = await serverPid(dataFolder);
    await starting.kill();
    await opened;
    await waitForEnd(pid);
    expect(await hasServer(dataFolder)).toBe(false);
  });

  it('starts a killed server once for all callers, with every acknowledged write', async () => {
    const dataFolder = await makeDatabase();
    const postgres = await openEmbeddedPostgres({ dataFolder, onNotice });
    const { connection } = postgres;
    for (const round of ['1', '2', '3']) {
      await writeNote(connection, round);
      const pid = await serverPid(dataFolder);
      await killServer(dataFolder);
      await Promise.all(Array.from({ length: 5 }, () => postgres.ensureRunning()));
      expect(await serverPid(dataFolder)).not.toBe(pid);
      expect(postgres.connection).toEqual(connection);
    }
    expect(await readNotes(connection)).toEqual(['1', '2', '3']);
    await postgres.release();
    expect(await hasServer(dataFolder)).toBe(false);
  });

  it('starts a server again that is killed while it starts', async () => {
    const dataFolder = await makeDatabase();
    const opening = openEmbeddedPostgres({ dataFolder, onNotice });
    while (!(await hasServer(dataFolder))) await sleep(1);
    const pid = await serverPid(dataFolder);
    await killServer(dataFolder);
    const postgres = await opening;
    // The server can have been ready when it was killed.
    await postgres.ensureRunning();
    await writeNote(postgres.connection, 'written');
    expect(await readNotes(postgres.connection)).toEqual(['written']);
    expect(await serverPid(dataFolder)).not.toBe(pid);
    await postgres.release();
  });

  it('starts although lock files name a process that is now another program', async () => {
    const dataFolder = await makeDatabase();
    const first = await openEmbeddedPostgres({ dataFolder, onNotice });
    await writeNote(first.connection, 'kept');
    await first.release();
    const cluster = join(dataFolder, 'postgres', 'cluster');
    const bystander = await startBystander();
    const lock = `${bystander}\n${cluster}\n1700000000\n5432\n`;
    await writeFile(join(cluster, 'postmaster.pid'), lock);
    await writeFile(join(first.connection.host, `${SOCKET_NAME}.lock`), lock);

    const second = await openEmbeddedPostgres({ dataFolder, onNotice });
    expect(await readNotes(second.connection)).toEqual(['kept']);
    expect(await isRunning(bystander)).toBe(true);
    await second.release();
  });

  it('starts although a power cut left an empty lock file', async () => {
    const dataFolder = await makeDatabase();
    const lock = join(dataFolder, 'postgres', 'cluster', 'postmaster.pid');
    await writeFile(lock, '');
    await utimes(lock, 1_700_000_000, 1_700_000_000);

    const postgres = await openEmbeddedPostgres({ dataFolder, onNotice });
    expect(await isRunning(await serverPid(dataFolder))).toBe(true);
    await writeNote(postgres.connection, 'written');
    expect(await readNotes(postgres.connection)).toEqual(['written']);
    await postgres.release();
  });

  it('rejects after the deadline when the server is frozen, and names its process', async () => {
    const dataFolder = await makeDatabase();
    const postgres = await openEmbeddedPostgres({ dataFolder, onNotice, startDeadlineMs: 3_000 });
    const pid = await serverPid(dataFolder);
    process.kill(pid, 'SIGSTOP');
    await expect(postgres.ensureRunning()).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_UNREACHABLE',
      message: expect.stringContaining(`Process ${pid} holds the database`),
    });
    process.kill(pid, 'SIGCONT');
    await postgres.ensureRunning();
    await postgres.release();
    expect(await isRunning(pid)).toBe(false);
  });
});
