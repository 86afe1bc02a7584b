import type { MiddlewareHandler } from 'hono';
import { useRequestContext } from 'hono/jsx-renderer';
import type { Mode, Operator } from 'instep/operate';

/** Who sent the request. A `visitor` has not logged in and sees nothing but the login. */
type Viewer =
  | { readonly kind: 'visitor' }
  | { readonly kind: 'local' }
  | { readonly kind: 'session'; readonly id: string }
  | { readonly kind: 'bearer' }
  /** A user of the app that the console is mounted in. */
  | { readonly kind: 'user'; readonly name: string; readonly role: 'operator' | 'viewer' };

export type ConsoleEnv = {
  Bindings: {
    /** The user of the app, where the console is mounted in one. */
    user?: { readonly name: string; readonly role: 'operator' | 'viewer' };
  };
  Variables: {
    viewer: Viewer;
    csrfToken: string;
    /** For links to Stripe's dashboard: the mode of the API key, or of the event that is shown. */
    mode: Mode | null;
  };
};

/** Who acts, for the audit. */
export function operatorOf({ viewer }: ConsoleEnv['Variables']): Operator {
  if (viewer.kind === 'user') return { name: viewer.name, how: 'console' };
  return { name: viewer.kind === 'local' ? 'localhost' : 'token', how: 'console' };
}

/** Whether the viewer can change something. A viewer of the app sees no form, since each would get a 403. */
export function canAct({ viewer } = currentRequest()): boolean {
  return viewer.kind !== 'user' || viewer.role === 'operator';
}

/** Every request starts as a visitor's. */
export function asVisitor(mode: Mode | null): MiddlewareHandler<ConsoleEnv> {
  return async (context, next) => {
    context.set('viewer', { kind: 'visitor' });
    context.set('csrfToken', '');
    context.set('mode', mode);
    await next();
  };
}

/** The data of the current request, so that components need not pass it on. */
export function currentRequest() {
  return useRequestContext<ConsoleEnv>().var;
}
