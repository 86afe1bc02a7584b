import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The version in `package.json`, which an app's bundler leaves behind. */
export const VERSION = '0.1.0';

/**
 * Imports a package that is installed only where it is needed; `null` where it is missing. Looks beside Instep and in
 * the app, because a strict package manager hides the app's packages from Instep.
 */
export async function importOptional<Module>(name: string): Promise<Module | null> {
  try {
    return await import(name);
  } catch (error) {
    if (!isMissing(error, name)) throw error;
  }
  const path = resolveInApp(name);
  return path === null ? null : await import(pathToFileURL(path).href);
}

function resolveInApp(name: string): string | null {
  try {
    return createRequire(join(process.cwd(), 'package.json')).resolve(name);
  } catch {
    return null;
  }
}

/** Whether the package itself is missing, rather than a module that it needs. */
function isMissing(error: unknown, name: string): boolean {
  const isNotFound =
    error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
  return isNotFound && error.message.includes(`'${name}'`);
}
