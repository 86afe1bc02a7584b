import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openEmbeddedPostgres } from 'instep-embedded-postgres';
import {
  acquirePresenceLock,
  type Connection,
  type PresenceLock,
} from 'instep-embedded-postgres/src/presence-lock.ts';
import pg from 'pg';
import { describe, expect, it, vi } from 'vitest';
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

const onNotice = () => undefined;

cleanUp();
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

async function acquired(connection: Connection): Promise<PresenceLock> {
  const attempt = await acquirePresenceLock(connection, 2_000);
  if (attempt.outcome !== 'acquired') throw new Error(attempt.reason);
  return attempt.lock;
}

describe('several processes on one data folder', () => {
  it('create one database when they start at the same moment', async () => {
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
    expect(left).toEqual([...copies, 'cluster', 'socket']);
    expect((await readdir(dataFolder)).sort()).toEqual(['postgres', 'postgres.log']);

    await Promise.all(processes.map((each) => each.release()));
    expect(await hasServer(dataFolder)).toBe(false);
  });

  it('ignore connections of pools, open or just closed', async () => {
    const dataFolder = await makeDatabase();
    const postgres = await openEmbeddedPostgres({ dataFolder, onNotice });
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

  it('keep the server running when one releases it while another opens it', async () => {
    const dataFolder = await makeDatabase();
    let leaving = await openEmbeddedPostgres({ dataFolder, onNotice });
    for (let round = 0; round < 8; round += 1) {
      const coming = openEmbeddedPostgres({ dataFolder, onNotice });
      await Promise.all([leaving.release(), coming]);
      leaving = await coming;
      await writeNote(leaving.connection, `${round}`);
    }
    expect(await readNotes(leaving.connection)).toHaveLength(8);
    await leaving.release();
    expect(await hasServer(dataFolder)).toBe(false);
  });

  it("can't get the presence lock while the last one stops the server", async () => {
    const dataFolder = await makeDatabase();
    const postgres = await openEmbeddedPostgres({ dataFolder, onNotice });
    const connection = { ...postgres.connection, database: 'template1' };
    const leaving = await acquired(connection);
    expect(await leaving.leave()).toBe('last');
    expect(await acquirePresenceLock(connection, 2_000)).toMatchObject({ outcome: 'wait' });
    await leaving.close();
    const staying = await acquired(connection);
    const next = await acquired(connection);
    expect(await next.leave()).toBe('not last');
    await Promise.all([next.close(), staying.close()]);
    await postgres.release();
  });

  it('keep PostgreSQL running during a Ctrl-C in their terminal', async () => {
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
