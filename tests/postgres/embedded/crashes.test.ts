import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openEmbeddedPostgres } from '../../../src/postgres/embedded/embedded-postgres.ts';
import { userOfNewCluster } from '../../../src/postgres/embedded/server-user.ts';
import { SOCKET_NAME } from '../../../src/postgres/embedded/socket-folder.ts';
import { stopServer } from '../../../src/postgres/embedded/stop-server.ts';
import { readNotes, writeNote } from './ask.ts';
import {
  cleanUp,
  hasServer,
  isRunning,
  killServer,
  makeDatabase,
  makeFolder,
  serverPid,
} from './data-folders.ts';
import { InstepProcess } from './instep-process.ts';

const notice = () => undefined;

cleanUp();
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** A process that PostgreSQL takes for a server of its own, going by the process id alone. */
async function startBystander(): Promise<number> {
  const { uid, gid, isSwitched } = await userOfNewCluster();
  const bystander = spawn('/bin/sleep', ['60'], isSwitched ? { uid, gid } : {});
  await once(bystander, 'spawn');
  onTestFinished(() => {
    bystander.kill('SIGKILL');
  });
  if (bystander.pid === undefined) throw new Error('it was not started');
  return bystander.pid;
}

describe('after a crash', () => {
  it('takes over the server of a process that was killed', async () => {
    const dataFolder = await makeDatabase();
    const killed = new InstepProcess(dataFolder);
    const { connection } = await killed.open();
    await writeNote(connection, 'acknowledged');
    const pid = await serverPid(dataFolder);
    await killed.kill();
    expect(await isRunning(pid)).toBe(true);

    const postgres = await openEmbeddedPostgres({ dataFolder, notice });
    expect(await serverPid(dataFolder)).toBe(pid);
    expect(await readNotes(postgres.connection)).toEqual(['acknowledged']);
    await postgres.release();
    expect(await isRunning(pid)).toBe(false);
  });

  it('brings a killed PostgreSQL back, once for all callers, with what was acknowledged', async () => {
    const dataFolder = await makeDatabase();
    const postgres = await openEmbeddedPostgres({ dataFolder, notice });
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

  it('starts PostgreSQL again when it is killed while it starts', async () => {
    const dataFolder = await makeDatabase();
    const opening = openEmbeddedPostgres({ dataFolder, notice });
    while (!(await hasServer(dataFolder))) await sleep(1);
    await killServer(dataFolder);
    const postgres = await opening;
    // Should it have been ready already when it was killed, then this brings it back.
    await postgres.ensureRunning();
    await writeNote(postgres.connection, 'written');
    await postgres.release();
  });

  it('is not kept out by lock files whose process id went to another process', async () => {
    const dataFolder = await makeDatabase();
    const first = await openEmbeddedPostgres({ dataFolder, notice });
    await writeNote(first.connection, 'kept');
    await first.release();
    const cluster = join(dataFolder, 'postgres', 'cluster');
    const lock = `${await startBystander()}\n${cluster}\n1700000000\n5432\n`;
    await writeFile(join(cluster, 'postmaster.pid'), lock);
    await writeFile(join(first.connection.host, `${SOCKET_NAME}.lock`), lock);

    const second = await openEmbeddedPostgres({ dataFolder, notice });
    expect(await readNotes(second.connection)).toEqual(['kept']);
    await second.release();
  });

  it('is not kept out by an empty lock file', async () => {
    const dataFolder = await makeDatabase();
    const lock = join(dataFolder, 'postgres', 'cluster', 'postmaster.pid');
    await writeFile(lock, '');
    await utimes(lock, 1_700_000_000, 1_700_000_000);

    const postgres = await openEmbeddedPostgres({ dataFolder, notice });
    await postgres.release();
  });

  it('never stops a process that is not the server, whatever a lock file says', async () => {
    const cluster = await makeFolder();
    const bystander = await startBystander();
    await writeFile(join(cluster, 'postmaster.pid'), `${bystander}\n${cluster}\n`);
    expect(await stopServer(cluster)).toBe('not found');
    expect(await isRunning(bystander)).toBe(true);
  });

  it('gives up on a frozen server after the deadline, and says which process it is', async () => {
    const dataFolder = await makeDatabase();
    const postgres = await openEmbeddedPostgres({ dataFolder, notice, startDeadlineMs: 500 });
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
