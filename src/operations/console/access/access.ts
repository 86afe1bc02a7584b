import { Hono } from 'hono';
import type { ConsoleOptions } from '../options.ts';
import type { ConsoleEnv } from '../request-context.ts';
import { createCookieSessions } from './cookie-sessions.ts';
import { loginPages } from './login.tsx';
import { refuseForeignForms } from './refuse-foreign-forms.ts';
import { refuseForeignHosts } from './refuse-foreign-hosts.ts';
import { requireLogin } from './require-login.tsx';
import { createTokenCheck } from './token-check.ts';

/**
 * Who may see and do what comes after it. With a token: who knows it. Without: who is on this
 * machine, and the secret that forms are signed with lives as long as the process.
 */
export function access(options: ConsoleOptions): Hono<ConsoleEnv> {
  const { token, now, nonce } = options;
  const app = new Hono<ConsoleEnv>();
  const secret = token ?? nonce();
  const visits = createCookieSessions({
    cookie: 'instep_visit',
    sameSite: 'Lax',
    secret,
    now,
    nonce,
  });
  if (token === null) {
    app.use(refuseForeignHosts, async (context, next) => {
      context.set('viewer', { kind: 'local' });
      await next();
    });
    return app.use(refuseForeignForms({ secret, visits }));
  }
  const cookie = 'instep_operator';
  const sessions = createCookieSessions({ cookie, sameSite: 'Strict', secret, now, nonce });
  const isToken = createTokenCheck({ ...options, token });
  app.use(requireLogin({ isToken, sessions }), refuseForeignForms({ secret, visits }));
  return app.route('/', loginPages({ ...options, isToken, sessions }));
}
