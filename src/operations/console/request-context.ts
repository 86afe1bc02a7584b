import type { MiddlewareHandler } from 'hono';
import { getContext } from 'hono/context-storage';

/** Who sent the request. A `visitor` has not logged in and sees nothing but the login. */
export type Viewer =
  | { readonly kind: 'visitor' }
  | { readonly kind: 'local' }
  | { readonly kind: 'session'; readonly id: string }
  | { readonly kind: 'bearer' };

export type ConsoleEnv = { Variables: { viewer: Viewer; csrfToken: string } };

/** Every request starts as a visitor's. */
export const asVisitor: MiddlewareHandler<ConsoleEnv> = async (context, next) => {
  context.set('viewer', { kind: 'visitor' });
  context.set('csrfToken', '');
  await next();
};

/** The viewer and form token of the current request, so that components need not pass them on. */
export function currentRequest() {
  return getContext<ConsoleEnv>().var;
}
