import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { codeOf } from 'instep-engine/runtime';

/** The version in `package.json`, which an app's bundler leaves behind. */
export const VERSION = '0.1.0';

/**
 * Imports a package that is installed only where it is needed; `null` where it is missing. Looks beside Instep and in
 * the app, because a strict package manager hides the app's packages from Instep. A bundler must leave both imports to
 * Node.js: webpack would warn at each build, and would find no package.
 */
export async function importOptional<Module>(name: string): Promise<Module | null> {
  try {
    return await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ name);
  } catch (error) {
    // A package that is there can lack a module that it needs.
    const isMissing = codeOf(error) === 'ERR_MODULE_NOT_FOUND';
    if (!isMissing || resolveFrom(import.meta.url, name) !== null) throw error;
  }
  const path = resolveFrom(join(process.cwd(), 'package.json'), name);
  return path === null
    ? null
    : await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ pathToFileURL(path).href);
}

/** The file of a package as it is found from another file; `null` if it is not. */
function resolveFrom(file: string, name: string): string | null {
  try {
    return createRequire(file).resolve(name);
  } catch {
    return null;
  }
}
