// Reads `.env.local` and `.env` of the current folder, as they are: Next.js would replace `$NAME` and `\$` in them.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { asObject } from 'instep-engine/rule';
import { codeOf } from 'instep-engine/runtime';
import { ConfigInvalid } from '../config/environment.ts';

/** The first one takes precedence, as in Next.js. */
const VARIABLE_FILES = ['.env.local', '.env'];

/** The variables of which a changed character would sign everybody out, or refuse a connection. */
const SENSITIVE = /^(?:AUTH_SECRET|DATABASE_URL|POSTGRES_URL|STRIPE_\w+)$/;

/**
 * Adds the variables of the files to the environment, which takes precedence.
 *
 * @throws ConfigInvalid if a sensitive value has a `$`, and the app's Next.js would replace it
 */
export function loadVariableFiles(folder: string): void {
  // Without a byte order mark, which would be part of the first name.
  const texts = VARIABLE_FILES.map((name) => readText(join(folder, name)).replace(/^\uFEFF/, ''));
  const values = Object.assign({}, ...texts.map((text) => parseEnv(text)).reverse());
  const added = Object.entries<string>(values).filter(([name]) => !(name in process.env));
  const replaced = added.filter(([name, value]) => SENSITIVE.test(name) && value.includes('$'));
  if (replaced.length > 0 && dependsOnNext(folder)) {
    const problem =
      'has a $, which Next.js replaces in the files of variables, and Instep does not';
    const remedy = 'set the value that your app gets, in the environment';
    throw new ConfigInvalid(replaced.map(([variable]) => ({ variable, problem, remedy })));
  }
  Object.assign(process.env, Object.fromEntries(added));
}

function dependsOnNext(folder: string): boolean {
  try {
    const manifest = asObject(JSON.parse(readText(join(folder, 'package.json'))));
    return asObject(manifest?.dependencies)?.next !== undefined;
  } catch {
    return false;
  }
}

/** The text of a file, which can be missing. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  }
}
