import type { Context, MiddlewareHandler } from 'hono';
import { loginNeeded } from '../problems.ts';
import type { ConsoleEnv } from '../request-context.ts';
import { Arrival } from './arrival.tsx';
import type { CookieSessions } from './cookie-sessions.ts';
import { LOGIN_PATH } from './login.tsx';
import type { TokenCheck } from './token-check.ts';

export type RequireLoginOptions = {
  readonly isToken: TokenCheck;
  readonly sessions: CookieSessions;
};

/** Lets nobody past who has neither a session nor the token, but to the login. */
export function requireLogin({ isToken, sessions }: RequireLoginOptions) {
  const middleware: MiddlewareHandler<ConsoleEnv> = async (context, next) => {
    const bearer = bearerOf(context);
    if (bearer !== null) {
      if (!(await isToken(bearer))) return refuse();
      context.set('viewer', { kind: 'bearer' });
      return await next();
    }
    const id = await sessions.find(context);
    if (id !== null) context.set('viewer', { kind: 'session', id });
    else if (context.req.path !== LOGIN_PATH) return askToLogIn(context);
    return await next();
  };
  return middleware;
}

/** The scheme's name is of any case (RFC 9110, 11.1). */
function bearerOf({ req }: Context): string | null {
  const [, token = null] = /^bearer +(\S+) *$/i.exec(req.header('Authorization') ?? '') ?? [];
  return token;
}

function refuse(): never {
  throw loginNeeded();
}

/** A person is led to the login and from there to where they wanted; a program is told. */
function askToLogIn(context: Context) {
  const { req } = context;
  const isPart = req.header('HX-Request') === 'true';
  const isForPerson = req.header('Accept')?.includes('text/html') === true;
  // The page that the part belongs to is loaded again, and that leads to the login.
  if (isPart) context.header('HX-Refresh', 'true');
  if (isPart || !isForPerson || req.method !== 'GET') return refuse();
  const from = req.header('Sec-Fetch-Site');
  if (from === 'cross-site' || from === 'same-site') return context.html(<Arrival />);
  const { pathname, search } = new URL(req.url);
  return context.redirect(`${LOGIN_PATH}?next=${encodeURIComponent(pathname + search)}`, 303);
}
