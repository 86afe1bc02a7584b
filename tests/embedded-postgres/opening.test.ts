import { mkdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openEmbeddedPostgres } from 'instep-embedded-postgres';
import { describe, expect, it, vi } from 'vitest';
import { ask, readNotes, writeNote } from './ask.ts';
import {
  areProgramsOpen,
  cleanUp,
  isRunning,
  makeDatabase,
  makeFolder,
  serverPid,
} from './data-folders.ts';

const notices: string[] = [];
const onNotice = (message: string) => notices.push(message);

cleanUp();
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

describe('opening the embedded PostgreSQL', () => {
  it('creates a durable UTF-8 database with a private socket, in a path with special characters', async () => {
    const name = areProgramsOpen ? 'my "own", \'data\' $HOME' : "my own, 'data' HOME";
    const dataFolder = join(await makeFolder(), name);
    const first = await openEmbeddedPostgres({ dataFolder, onNotice });
    const rows = await ask<{ name: string; setting: string }>(
      first.connection,
      `select name, setting from pg_settings where name in ('fsync', 'full_page_writes',
         'synchronous_commit', 'listen_addresses', 'TimeZone', 'server_encoding', 'data_checksums')
       union select 'collation', datcollate from pg_database where datname = current_database()
       union select 'user', current_user union select 'database', current_database()
       union select 'major', split_part(current_setting('server_version'), '.', 1)`,
    );
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      listen_addresses: '',
      TimeZone: 'UTC',
      server_encoding: 'UTF8',
      data_checksums: 'on',
      collation: 'C',
      user: 'app',
      database: 'instep',
      major: '18',
    });
    expect((await stat(first.connection.host)).mode & 0o777).toBe(0o700);
    expect(notices).toEqual([]);

    await writeNote(first.connection, 'kept');
    const pid = await serverPid(dataFolder);
    await first.release();
    expect(await isRunning(pid)).toBe(false);
    await expect(first.ensureRunning()).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_RELEASED',
    });

    const second = await openEmbeddedPostgres({ dataFolder, onNotice });
    expect(second.connection).toEqual(first.connection);
    expect(await readNotes(second.connection)).toEqual(['kept']);
    await second.release();
  });

  it('refuses a path that is too long for a socket', async () => {
    const dataFolder = join(await makeFolder(), 'long'.repeat(20));
    await expect(openEmbeddedPostgres({ dataFolder, onNotice })).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_FOLDER_UNFIT',
      message: expect.stringMatching(/too long for PostgreSQL's socket.*INSTEP_DATA/),
    });
  });

  it('refuses the data of another major version, and names both versions', async () => {
    const dataFolder = await makeDatabase();
    await writeFile(join(dataFolder, 'postgres', 'cluster', 'PG_VERSION'), '17\n');

    await expect(openEmbeddedPostgres({ dataFolder, onNotice })).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_VERSION_DIFFERS',
      message: expect.stringMatching(/made by PostgreSQL 17.*this is PostgreSQL 18/),
    });
  });

  it("reports PostgreSQL's last lines when it does not start, and begins a new log at 10 MB", async () => {
    const dataFolder = await makeDatabase();
    const log = join(dataFolder, 'postgres.log');
    await truncate(log, 11 * 1024 * 1024);
    await writeFile(join(dataFolder, 'postgres', 'cluster', 'postgresql.conf'), 'no_such = 1\n');

    await expect(openEmbeddedPostgres({ dataFolder, onNotice })).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_START_FAILED',
      message: expect.stringMatching(
        /unrecognized configuration parameter "no_such"[\s\S]*The log is/,
      ),
    });
    expect((await stat(`${log}.1`)).size).toBe(11 * 1024 * 1024);
    expect(await readFile(log, 'utf8')).not.toContain('\0');
  });

  it("says what to do when the data folder can't be created", async () => {
    const file = join(await makeFolder(), 'file');
    await writeFile(file, '');
    await expect(
      openEmbeddedPostgres({ dataFolder: join(file, 'data'), onNotice }),
    ).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_FOLDER_UNFIT',
      message: expect.stringContaining('INSTEP_DATA'),
    });
  });

  it('refuses a folder with a half-deleted database, and leaves it unchanged', async () => {
    const dataFolder = join(await makeFolder(), 'data');
    const remains = join(dataFolder, 'postgres', 'cluster', 'base', '1');
    await mkdir(dirname(remains), { recursive: true });
    await writeFile(remains, 'precious');
    await expect(openEmbeddedPostgres({ dataFolder, onNotice })).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_FOLDER_UNFIT',
      message: expect.stringContaining('holds no database'),
    });
    expect(await readFile(remains, 'utf8')).toBe('precious');
  });
});
