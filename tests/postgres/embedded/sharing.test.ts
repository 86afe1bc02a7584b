import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, it, vi } from 'vitest';
import { openEmbeddedPostgres } from '../../../src/postgres/embedded/embedded-postgres.ts';
import {
  acquirePresenceLock,
  type Connection,
  type PresenceLock,
} from '../../../src/postgres/embedded/presence-lock.ts';
import { readNotes, writeNote } from './ask.ts';
import {
  areProgramsOpen,
  cleanUp,
  hasServer,
  isRunning,
  makeDatabase,
  makeFolder,
  serverPid,
} from './data-folders.ts';
import { InstepProcess } from './instep-process.ts';

const notice = () => undefined;

cleanUp();
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

async function seated(connection: Connection): Promise<PresenceLock> {
  const attempt = await acquirePresenceLock(connection, 2_000);
  if (attempt.outcome !== 'seated') throw new Error(attempt.reason);
  return attempt.seat;
}

describe('several processes on one data folder', () => {
  it('make one database when they begin at the same moment, and lose nothing', async () => {
    const dataFolder = join(await makeFolder(), 'data');
    const processes = [1, 2].map(() => new InstepProcess(dataFolder));
    const opened = await Promise.all(processes.map((each) => each.open()));
    for (const [index, { connection }] of opened.entries()) {
      await writeNote(connection, `from ${index}`);
    }
    const [first] = opened;
    expect(first && (await readNotes(first.connection))).toEqual(['from 0', 'from 1']);
    const left = (await readdir(join(dataFolder, 'postgres'))).sort();
    const copies = areProgramsOpen ? [] : ['binaries'];
    expect(left).toEqual([...copies, 'cluster', 'id', 'socket']);
    expect((await readdir(dataFolder)).sort()).toEqual(['postgres', 'postgres.log']);

    await Promise.all(processes.map((each) => each.release()));
    expect(await hasServer(dataFolder)).toBe(false);
  });

  it('stop the server only when the last one leaves', async () => {
    const dataFolder = await makeDatabase();
    const starter = await openEmbeddedPostgres({ dataFolder, notice });
    const joiner = new InstepProcess(dataFolder);
    const { connection } = await joiner.open();
    const pid = await serverPid(dataFolder);

    await starter.release();
    expect(await isRunning(pid)).toBe(true);
    await writeNote(connection, 'still here');

    await joiner.release();
    expect(await isRunning(pid)).toBe(false);
  });

  it('take their own connections, open or just closed, for nobody else', async () => {
    const dataFolder = await makeDatabase();
    const postgres = await openEmbeddedPostgres({ dataFolder, notice });
    const pool = new pg.Pool({ ...postgres.connection, max: 20, application_name: 'instep' });
    pool.on('connect', (client) => client.on('error', () => undefined));
    pool.on('error', () => undefined);
    await Promise.all(Array.from({ length: 20 }, () => pool.query('select pg_sleep(0.01)')));
    await postgres.ensureRunning();
    const pid = await serverPid(dataFolder);
    const closed = pool.end();
    await postgres.release();
    expect(await isRunning(pid)).toBe(false);
    await closed;
  });

  it('do not wait for one that was killed', async () => {
    const dataFolder = await makeDatabase();
    const killed = new InstepProcess(dataFolder);
    await killed.open();
    const postgres = await openEmbeddedPostgres({ dataFolder, notice });
    const pid = await serverPid(dataFolder);
    await killed.kill();
    await postgres.release();
    expect(await isRunning(pid)).toBe(false);
  });

  it('keep the server when one leaves while another comes', async () => {
    const dataFolder = await makeDatabase();
    let leaving = await openEmbeddedPostgres({ dataFolder, notice });
    for (let round = 0; round < 8; round += 1) {
      const coming = openEmbeddedPostgres({ dataFolder, notice });
      await Promise.all([leaving.release(), coming]);
      leaving = await coming;
      await writeNote(leaving.connection, `${round}`);
    }
    expect(await readNotes(leaving.connection)).toHaveLength(8);
    await leaving.release();
    expect(await hasServer(dataFolder)).toBe(false);
  });

  it('give nobody a seat while the last one stops the server', async () => {
    const dataFolder = await makeDatabase();
    const postgres = await openEmbeddedPostgres({ dataFolder, notice });
    const connection = { ...postgres.connection, database: 'template1' };
    const leaving = await seated(connection);
    expect(await leaving.leave()).toBe('last');
    expect(await acquirePresenceLock(connection, 2_000)).toMatchObject({ outcome: 'wait' });
    await leaving.close();
    const staying = await seated(connection);
    const next = await seated(connection);
    expect(await next.leave()).toBe('not last');
    await Promise.all([next.close(), staying.close()]);
    await postgres.release();
  });

  it('leave PostgreSQL out of a Ctrl-C in their terminal', async () => {
    const dataFolder = await makeDatabase();
    const interrupted = new InstepProcess(dataFolder);
    const { connection } = await interrupted.open();
    const pid = await serverPid(dataFolder);
    interrupted.interruptGroup();
    await writeNote(connection, 'during the shutdown');
    expect(await serverPid(dataFolder)).toBe(pid);
    await interrupted.release();
    expect(await isRunning(pid)).toBe(false);
  });
});
