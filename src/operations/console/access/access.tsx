import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { raw } from 'hono/html';
import type { ConsoleOptions } from '../options.ts';
import { hostUnknown, loginNeeded } from '../problems.tsx';
import type { ConsoleEnv } from '../request-context.ts';
import { createCookieSessions } from './cookie-sessions.ts';
import { protectForms } from './form-protection.ts';
import { LOGIN_PATH, type LoginOptions, loginPages } from './login.tsx';
import { createTokenCheck } from './token-check.ts';

/**
 * Guards every route that follows. With a token, operators log in; without one, everyone on this
 * machine has access, and forms are signed with a secret that lives as long as the process.
 */
export function access(options: ConsoleOptions): Hono<ConsoleEnv> {
  const { token, now, nonce } = options;
  const app = new Hono<ConsoleEnv>();
  const secret = token ?? nonce();
  const shared = { secret, now, nonce };
  const visits = createCookieSessions({ ...shared, cookie: 'instep_visit', sameSite: 'Lax' });
  if (token === null) return app.use(requireLoopbackHost, protectForms({ secret, visits }));
  const sessions = createCookieSessions({
    ...shared,
    cookie: 'instep_operator',
    sameSite: 'Strict',
  });
  const isToken = createTokenCheck({ ...options, token });
  app.use(requireLogin({ isToken, sessions }), protectForms({ secret, visits }));
  return app.route('/', loginPages({ ...options, isToken, sessions }));
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/**
 * Prevents DNS rebinding: another site can make its own name resolve to this machine, but it can't
 * make a browser send our names as `Host`.
 */
const requireLoopbackHost: MiddlewareHandler<ConsoleEnv> = async (context, next) => {
  if (!LOOPBACK.test(context.req.header('Host') ?? '')) throw hostUnknown();
  context.set('viewer', { kind: 'local' });
  await next();
};

type LoginCheck = Pick<LoginOptions, 'isToken' | 'sessions'>;

/** Without a session or the token only the login is served. */
function requireLogin({ isToken, sessions }: LoginCheck): MiddlewareHandler<ConsoleEnv> {
  return async (context, next) => {
    const bearer = bearerOf(context);
    if (bearer !== null) {
      if (!(await isToken(bearer))) throw loginNeeded();
      context.set('viewer', { kind: 'bearer' });
      return await next();
    }
    const id = await sessions.find(context);
    if (id !== null) context.set('viewer', { kind: 'session', id });
    else if (context.req.path !== LOGIN_PATH) return askToLogIn(context);
    return await next();
  };
}

/** The scheme is case-insensitive (RFC 9110, 11.1). */
function bearerOf({ req }: Context): string | null {
  const [, token = null] = /^bearer +(\S+) *$/i.exec(req.header('Authorization') ?? '') ?? [];
  return token;
}

/** Redirects a person to the login, and from there back to the page; refuses a program. */
function askToLogIn(context: Context) {
  const { req } = context;
  const isPart = req.header('HX-Request') === 'true';
  const isForPerson = req.header('Accept')?.includes('text/html') === true;
  // htmx reloads the whole page, which redirects to the login.
  if (isPart) context.header('HX-Refresh', 'true');
  if (isPart || !isForPerson || req.method !== 'GET') throw loginNeeded();
  const from = req.header('Sec-Fetch-Site');
  if (from === 'cross-site' || from === 'same-site') return context.html(<Arrival />);
  const { pathname, search } = new URL(req.url);
  return context.redirect(`${LOGIN_PATH}?next=${encodeURIComponent(pathname + search)}`, 303);
}

/**
 * Answers a link from another site, which carries no `Strict` cookie. This page is one of ours, so
 * when it reloads itself the cookie is sent.
 */
function Arrival() {
  return (
    <>
      {raw('<!doctype html>')}
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta http-equiv="refresh" content="0" />
          <title>Instep</title>
        </head>
        <body>
          <p>Loading…</p>
        </body>
      </html>
    </>
  );
}
