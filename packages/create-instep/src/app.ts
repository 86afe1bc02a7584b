// What the files of an app show about it, for `init`.

import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { InstepError } from 'instep';
import * as v from 'valibot';

/** The app in a folder, as far as its files show. */
export type App = ReturnType<typeof readApp>;

export type Framework = (typeof FRAMEWORKS)[keyof typeof FRAMEWORKS];

/** `init` can't go on. Unless the message says otherwise, nothing was changed. */
export class InitRefused extends InstepError {
  readonly code = 'INIT_REFUSED';
}

/** What an installation leaves comes before lock files, because a template has one whatever its user installs with. */
const MANAGER_FILES = {
  'node_modules/.modules.yaml': 'pnpm',
  'node_modules/.package-lock.json': 'npm',
  'pnpm-lock.yaml': 'pnpm',
  'package-lock.json': 'npm',
  'yarn.lock': 'yarn',
  'bun.lock': 'bun',
};

/** The first that is a dependency counts: a Next.js app can have an Express server as well. */
const FRAMEWORKS = {
  next: 'Next.js',
  express: 'Express',
  fastify: 'Fastify',
  hono: 'Hono',
} as const;

const ORMS = {
  'drizzle-orm': 'Drizzle',
  '@prisma/client': 'Prisma',
};

/**
 * The place of a file of the app, which need not exist.
 *
 * @throws InitRefused if a symbolic link leads out of the folder: nothing there is the app's
 */
export function fileIn(folder: string, path: string): string {
  const root = realpathSync(folder);
  const file = join(root, path);
  let existing = file;
  while (!isThere(existing)) existing = dirname(existing);
  const real = realPathOf(existing);
  if (real === root || real?.startsWith(root + sep)) return file;
  throw new InitRefused(`${path} is a symbolic link, or behind one, that leads out of the app`);
}

/** Also for a link that leads nowhere, but not for a place below a file. */
function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** `null` for a link that leads nowhere. */
function realPathOf(file: string): string | null {
  try {
    return realpathSync(file);
  } catch {
    return null;
  }
}

/** Looks at the files of a folder. @throws InitRefused if it is not the folder of one app */
export function readApp(folder: string) {
  const read = (path: string) => {
    const file = fileIn(folder, path);
    return existsSync(file) ? readFileSync(file, 'utf8') : null;
  };
  const manifest = parseManifest(read('package.json'));
  const { scripts = {}, workspaces } = manifest ?? {};
  const dependencies = { ...manifest?.devDependencies, ...manifest?.dependencies };
  const [name = '', framework = null] =
    Object.entries(FRAMEWORKS).find(([name]) => name in dependencies) ?? [];
  if (framework === null && (workspaces || read('pnpm-workspace.yaml')?.includes('packages:'))) {
    throw new InitRefused('this is the root of a workspace: run it in the folder of the app');
  }
  const packageManager = manifest === null ? null : findManager(folder);
  const [, orm = null] = Object.entries(ORMS).find(([name]) => name in dependencies) ?? [];
  return {
    ...{ folder, scripts, dependencies, framework, packageManager, orm, read },
    /** As package.json gives it, such as `^15.1.0`. */
    frameworkVersion: dependencies[name] ?? '',
    sources: readSources(folder),
  };
}

const names = v.optional(v.record(v.string(), v.string()), {});
const manifestShape = v.object({
  ...{ scripts: names, dependencies: names, devDependencies: names },
  workspaces: v.optional(v.unknown()),
});

function parseManifest(text: string | null) {
  try {
    return text === null ? null : v.parse(manifestShape, JSON.parse(text));
  } catch (cause) {
    throw new InitRefused('package.json is damaged', { cause });
  }
}

/** In a workspace, these files are in a folder above. */
function findManager(folder: string): string {
  const found = Object.entries(MANAGER_FILES).find(([file]) => existsSync(join(folder, file)));
  if (found !== undefined) return found[1];
  const isRoot = dirname(folder) === folder || existsSync(join(folder, '.git'));
  return isRoot ? 'npm' : findManager(dirname(folder));
}

const SOURCE = /\.[cm]?[jt]sx?$/;
const GENERATED = /^(?:node_modules|dist|build|out|coverage|\..*)$/;
const MAX_SOURCES = 10_000;

function readSources(folder: string): ReadonlyMap<string, string> {
  const sources = new Map<string, string>();
  function visit(directory: string): void {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name);
      if (entry.isDirectory() && !GENERATED.test(entry.name)) visit(path);
      if (!entry.isFile() || !SOURCE.test(entry.name)) continue;
      sources.set(relative(folder, path).replaceAll('\\', '/'), readFileSync(path, 'utf8'));
      if (sources.size > MAX_SOURCES) throw new InitRefused(`${folder} has too many source files`);
    }
  }
  visit(folder);
  return sources;
}
