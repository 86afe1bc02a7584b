import type { MiddlewareHandler } from 'hono';
import { getContext } from 'hono/context-storage';

/** Whom we answer. `visitor`: somebody who has not said who they are, and sees the login only. */
export type Viewer =
  | { readonly kind: 'visitor' }
  | { readonly kind: 'local' }
  | { readonly kind: 'session'; readonly id: string }
  | { readonly kind: 'bearer' };

/** What is known of each request. */
export type ConsoleEnv = { Variables: { viewer: Viewer; csrfToken: string } };

/** Until we know better, somebody asks of whom we know nothing. */
export const asVisitor: MiddlewareHandler<ConsoleEnv> = async (context, next) => {
  context.set('viewer', { kind: 'visitor' });
  context.set('csrfToken', '');
  await next();
};

/** Of the request that is being answered: components need not be handed it. */
export function currentRequest() {
  const { viewer, csrfToken } = getContext<ConsoleEnv>().var;
  return { viewer, csrfToken };
}
