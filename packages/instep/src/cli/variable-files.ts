// Reads `.env.local` and `.env` of the current folder, as they are: Next.js would replace `$NAME` and `\$` in them.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { codeOf } from 'instep-engine/runtime';

/** The first one takes precedence, as in Next.js. */
const VARIABLE_FILES = ['.env.local', '.env'];

/** Adds the variables of the files to the environment, which takes precedence. */
export function loadVariableFiles(folder: string): void {
  for (const name of VARIABLE_FILES) {
    // Without a byte order mark, which would be part of the first name.
    const values = parseEnv(readText(join(folder, name)).replace(/^\uFEFF/, ''));
    Object.assign(process.env, { ...values, ...process.env });
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
