import { execFile } from 'node:child_process';
import { chmod, lstat, mkdir, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openEmbeddedPostgres } from '../../../src/postgres/embedded/embedded-postgres.ts';
import { findInaccessibleFolder } from '../../../src/postgres/embedded/inaccessible-folder.ts';
import { ask, readNotes, writeNote } from './ask.ts';
import { addPostgres, type CopiedTree, copyTree, removeLinks } from './copied-tree.ts';
import {
  cleanUp,
  deleteDatabase,
  isRunning,
  makeDatabase,
  makeFolder,
  makeOpenFolder,
  serverPid,
} from './data-folders.ts';
import { InstepProcess } from './instep-process.ts';

const isRoot = process.getuid?.() === 0;

/** The first of the users that every system knows. Only root can be it. */
const ORDINARY = { uid: 1, gid: 1, isSwitched: true };
const asOrdinary = isRoot ? { uid: ORDINARY.uid } : {};

/** Not so when root's Node.js lies in root's own home. */
const ordinaryMayRunNode =
  !isRoot || (await findInaccessibleFolder(process.execPath, ORDINARY)) === undefined;

cleanUp();
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let shared: string;
let tree: CopiedTree;

beforeAll(async () => {
  shared = await makeOpenFolder();
  tree = await copyTree(shared);
  await addPostgres(tree);
});

beforeEach(() => removeLinks(tree.packageFolder));

afterAll(() => rm(shared, { recursive: true, force: true }));

describe('an installation', () => {
  it('lays the links that npm ci --ignore-scripts left out, in two processes at once', async () => {
    const dataFolder = await makeDatabase();
    const processes = [1, 2].map(() => new InstepProcess(dataFolder, tree));
    const [opened] = await Promise.all(processes.map((each) => each.open()));
    if (opened === undefined) throw new Error('nothing was opened');
    await writeNote(opened.connection, 'written');
    if (process.platform === 'linux') {
      const link = join(tree.packageFolder, 'native', 'lib', 'libpq.so.5');
      expect(await readlink(link)).toMatch(/^libpq\.so\.5\.\d+$/);
    }
    await expect(lstat(join(dataFolder, 'postgres', 'binaries'))).rejects.toThrow('ENOENT');
    await Promise.all(processes.map((each) => each.release()));
  });

  it('without the optional package says what to do', async () => {
    const folder = await makeFolder();
    const instep = new InstepProcess(join(folder, 'data'), await copyTree(folder));
    await expect(instep.open()).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_MISSING',
      message: expect.stringMatching(/@embedded-postgres\/.*install.*DATABASE_URL/),
    });
  });

  it.skipIf(!ordinaryMayRunNode)(
    'that lacks the links and cannot be written is copied, for an ordinary user',
    async () => {
      const dataFolder = join(await makeFolder(), 'data');
      await mkdir(dataFolder);
      await chmod(dataFolder, 0o777);
      const libraries = join(tree.packageFolder, 'native', 'lib');
      await chmod(libraries, 0o555);
      onTestFinished(() => chmod(libraries, 0o755));
      const instep = new InstepProcess(dataFolder, { ...tree, ...asOrdinary });
      await writeNote((await instep.open()).connection, 'written');
      const { uid } = await lstat(join(dataFolder, 'postgres', 'cluster'));
      expect(uid).toBe(isRoot ? ORDINARY.uid : process.getuid?.());
      await expect(lstat(join(libraries, 'libpq.so.5'))).rejects.toThrow('ENOENT');
      await instep.release();
    },
  );
});

describe.skipIf(!isRoot)('as root (skipped for other users)', () => {
  it('keeps the files elsewhere when the data folder lies in a closed folder', async () => {
    await chmod(shared, 0o700);
    onTestFinished(() => chmod(shared, 0o755));
    const dataFolder = join(shared, 'data');
    onTestFinished(() => deleteDatabase(dataFolder));

    // Both begin on an empty folder: one home must remain.
    const both = [1, 2].map(() => new InstepProcess(dataFolder, tree));
    const opened = await Promise.all(both.map((each) => each.open()));
    const home = await readlink(join(dataFolder, 'postgres'));
    expect(home).toMatch(/^\/var\/lib\/instep\/[0-9a-f]{16}$/);
    expect(opened.flatMap(({ notices }) => notices)).toEqual([
      expect.stringContaining(`cannot enter ${shared}: its files are in ${home}`),
    ]);
    const [connection] = opened.map((each) => each.connection);
    if (connection === undefined) throw new Error('nothing was opened');
    expect(connection.host).toBe(join(home, 'socket'));
    await writeNote(connection, 'kept');
    await Promise.all(both.map((each) => each.release()));

    const again = new InstepProcess(dataFolder, tree);
    expect(await again.open()).toEqual({ connection, notices: [] });
    expect(await readNotes(connection)).toEqual(['kept']);
    await again.release();

    // Whoever deletes the data folder gets an empty database.
    await deleteDatabase(dataFolder);
    const anew = new InstepProcess(dataFolder, tree);
    const other = await anew.open();
    expect(other.connection.host).not.toBe(connection.host);
    await expect(readNotes(other.connection)).rejects.toThrow('does not exist');
    await anew.release();
  });

  it('opens its own data folder when only that is closed, and says so', async () => {
    const dataFolder = await makeFolder();
    await chmod(dataFolder, 0o700);
    const notices: string[] = [];
    const notice = (message: string) => notices.push(message);
    const postgres = await openEmbeddedPostgres({ dataFolder, notice });
    expect((await lstat(join(dataFolder, 'postgres'))).isDirectory()).toBe(true);
    expect((await lstat(dataFolder)).mode & 0o777).toBe(0o701);
    expect(notices).toEqual([expect.stringContaining(`${dataFolder} was opened to it`)]);
    await postgres.release();
  });

  it('refuses a link to files that are gone, rather than begin anew', async () => {
    const dataFolder = await makeFolder();
    await symlink(join(dataFolder, 'gone'), join(dataFolder, 'postgres'));
    await expect(
      openEmbeddedPostgres({ dataFolder, notice: () => undefined }),
    ).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_FOLDER_UNFIT',
      message: expect.stringContaining('is gone'),
    });
  });

  it.skipIf(!ordinaryMayRunNode)("runs an ordinary user's database as that user", async () => {
    const dataFolder = await makeDatabase();
    const refused = new InstepProcess(dataFolder, { ...tree, ...asOrdinary });
    await expect(refused.open()).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_FOLDER_UNFIT',
      message: expect.stringContaining('run as the user that made it'),
    });

    await promisify(execFile)('/bin/chown', ['-R', `${ORDINARY.uid}:${ORDINARY.gid}`, dataFolder]);
    const ours = await openEmbeddedPostgres({ dataFolder, notice: () => undefined });
    await writeNote(ours.connection, 'kept');
    const pid = await serverPid(dataFolder);
    expect((await lstat(`/proc/${pid}`)).uid).toBe(ORDINARY.uid);

    const theirs = new InstepProcess(dataFolder, { ...tree, ...asOrdinary });
    await theirs.open();
    await ours.release();
    await theirs.release();
    expect(await isRunning(pid)).toBe(false);

    const back = new InstepProcess(dataFolder, { ...tree, ...asOrdinary });
    const { connection } = await back.open();
    expect(await readNotes(connection)).toEqual(['kept']);
    await ask(connection, 'drop table note');
    await back.release();
  });
});
