import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

/** The package `instep`, with its sources and its build. */
export const INSTEP = join(ROOT, 'packages/instep');

/** The built command. */
export const PROGRAM = join(INSTEP, 'bin/instep.js');
