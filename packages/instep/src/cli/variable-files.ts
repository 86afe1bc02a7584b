// Reads `.env.local` and `.env` of the current folder. Beside a Next.js app, the values must be the app's: Next.js
// replaces `$NAME` and `\$` in them, so its own loader reads the files.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { asObject } from 'instep-engine/rule';
import { codeOf } from 'instep-engine/runtime';
import { ConfigInvalid, VARIABLE_FILES } from '../config/environment.ts';
import { printMessage } from './output.ts';

type VariableFile = { readonly path: string; readonly contents: string };

/** The part of `@next/env` that is needed. It adds the variables to the environment, which takes precedence. */
type NextLoader = {
  processEnv(
    files: readonly (VariableFile & { env: object })[],
    folder: string,
    log: { info(text: string): void; error(text: string): void },
    isForced: boolean,
  ): unknown;
};

/** The variables of which a changed character would sign everybody out, or refuse a connection. */
const SENSITIVE = /^(?:AUTH_SECRET|DATABASE_URL|POSTGRES_URL|STRIPE_\w+)$/;

/** The files of the variables that were not in the environment, the first of each. */
const sources = new Map<string, string>();

/** Where the value of a variable comes from: `environment`, or the name of a file. */
export function sourceOf(variable: string): string {
  return sources.get(variable) ?? 'environment';
}

/**
 * Adds the variables of the files to the environment, which takes precedence.
 *
 * @throws ConfigInvalid if a value has a `$` and the app's Next.js, which would replace it, is not installed
 */
export function loadVariableFiles(folder: string): void {
  const files = VARIABLE_FILES.flatMap((name) => readFile(folder, name));
  if (files.length === 0) return;
  for (const { path, contents } of files) {
    for (const name of Object.keys(parseEnv(contents))) {
      if (!(name in process.env) && !sources.has(name)) sources.set(name, path);
    }
  }
  const usesNext = dependsOnNext(folder);
  const loader = usesNext ? loaderOf(folder) : null;
  if (loader !== null) {
    const log = { info: () => undefined, error: printMessage };
    loader.processEnv(
      files.map((file) => ({ ...file, env: {} })),
      folder,
      log,
      true,
    );
    // It would keep a Next.js that this process starts from reading the files itself.
    delete process.env.__NEXT_PROCESSED_ENV;
    return;
  }
  for (const { contents } of files) {
    const added = Object.entries(parseEnv(contents)).filter(([name]) => !(name in process.env));
    if (usesNext) checkDollars(added);
    for (const [name, value] of added) process.env[name] = value;
  }
}

/** Without a byte order mark, which would be part of the first name. */
function readFile(folder: string, name: string): VariableFile[] {
  try {
    const contents = readFileSync(join(folder, name), 'utf8').replace(/^\uFEFF/, '');
    return [{ path: name, contents }];
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

function dependsOnNext(folder: string): boolean {
  try {
    const manifest = asObject(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
    return asObject(manifest?.dependencies)?.next !== undefined;
  } catch {
    return false;
  }
}

/** `null`: the app's Next.js is not installed. */
function loaderOf(folder: string): NextLoader | null {
  try {
    const next = createRequire(join(folder, 'package.json')).resolve('next/package.json');
    return createRequire(next)('@next/env');
  } catch {
    return null;
  }
}

function checkDollars(values: readonly (readonly [string, string | undefined])[]): void {
  const named = values.filter(([name, value]) => SENSITIVE.test(name) && value?.includes('$'));
  if (named.length === 0) return;
  const problem = 'has a $, which Next.js replaces';
  const remedy =
    "install the app's packages, so that Instep reads it as Next.js does, or set it in the environment";
  throw new ConfigInvalid(named.map(([variable]) => ({ variable, problem, remedy })));
}
