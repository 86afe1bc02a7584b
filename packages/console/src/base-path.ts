import type { MiddlewareHandler } from 'hono';

const BASE_PATH = /^(?:\/[\w.~-]+)*$/;

/** @throws TypeError */
export function checkBasePath(basePath: string): void {
  if (BASE_PATH.test(basePath)) return;
  throw new TypeError(
    'basePath begins with a slash and does not end with one, as in /admin/billing',
  );
}

/** The path of a request from the console's root; `null` when it is not below the base path. */
export function pathBelow(basePath: string, url: string): string | null {
  const { pathname } = new URL(url);
  if (pathname === basePath) return '/';
  return pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : null;
}

/** An address in an attribute that begins at the console's root. No text of a page has an unescaped quote. */
const ADDRESS = /( (?:href|src|action|hx-get)=")(\/[^"]*)/g;

/**
 * Pages write every address from the console's root. This puts the base path before all of them, in one place, so
 * that none can be forgotten.
 */
export function addBasePath(basePath: string): MiddlewareHandler {
  const below = (path: string) => basePath + (/^\/(?![^?#])/.test(path) ? path.slice(1) : path);
  return async (context, next) => {
    await next();
    const { headers } = context.res;
    const location = headers.get('Location');
    if (location?.startsWith('/')) headers.set('Location', below(location));
    if (headers.get('Content-Type')?.startsWith('text/html') !== true) return;
    const page = await context.res.text();
    const moved = page.replace(ADDRESS, (_, attribute, path) => attribute + below(path));
    context.res = new Response(moved, context.res);
  };
}
