import { once } from 'node:events';
import {
  chmod,
  mkdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { openEmbeddedPostgres } from 'instep-embedded-postgres';
import { chooseSocketDirectory, SOCKET_NAME } from 'instep-embedded-postgres/src/paths.ts';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
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

  it('puts the socket elsewhere when the path is too long for one', async () => {
    const dataFolder = join(await makeFolder(), 'long'.repeat(20), 'long'.repeat(20), 'data');
    await mkdir(dirname(dataFolder), { recursive: true });
    await rename(await makeDatabase(), dataFolder);
    const first = await openEmbeddedPostgres({ dataFolder, onNotice });
    await writeNote(first.connection, 'kept');
    expect(Buffer.byteLength(join(first.connection.host, SOCKET_NAME))).toBeLessThanOrEqual(103);
    expect((await stat(first.connection.host)).mode & 0o777).toBe(0o700);

    const joined = await openEmbeddedPostgres({ dataFolder, onNotice });
    expect(joined.connection).toEqual(first.connection);
    expect(await readNotes(joined.connection)).toEqual(['kept']);
    await first.release();
    await joined.release();
  });

  it("refuses another user's socket without connecting to it", async () => {
    const dataFolder = join(await makeFolder(), 'long'.repeat(20), 'long'.repeat(20), 'data');
    await mkdir(dirname(dataFolder), { recursive: true });
    await rename(await makeDatabase(), dataFolder);
    const directory = await chooseSocketDirectory(await realpath(join(dataFolder, 'postgres')));
    // Any user can write to it, as if another user had created it.
    await mkdir(directory);
    await chmod(directory, 0o777);
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    let connections = 0;
    const impostor = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    impostor.listen(join(directory, SOCKET_NAME));
    await once(impostor, 'listening');
    onTestFinished(() => {
      impostor.close();
    });

    await expect(openEmbeddedPostgres({ dataFolder, onNotice })).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_FOLDER_UNFIT',
      message: expect.stringContaining(`${directory} is not a private folder`),
    });
    expect(connections).toBe(0);
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
