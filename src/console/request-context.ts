import { getContext } from 'hono/context-storage';

/** Whom we answer. `visitor`: somebody who has not said who they are, and sees the login only. */
export type Viewer =
  | { readonly kind: 'visitor' }
  | { readonly kind: 'local' }
  | { readonly kind: 'session'; readonly id: string }
  | { readonly kind: 'bearer' };

/** What is known of each request. */
export type ConsoleEnv = { Variables: { viewer: Viewer; csrfToken: string } };

/** Of the request that is being answered: components need not be handed it. */
export function currentRequest() {
  const { var: variables, req } = getContext<ConsoleEnv>();
  return {
    /** Before it is known whom we answer, it is a visitor. */
    viewer: (variables.viewer ?? { kind: 'visitor' }) satisfies Viewer,
    csrfToken: variables.csrfToken ?? '',
    url: req.url,
  };
}
