import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { raw } from 'hono/html';
import type { ConsoleOptions } from 'instep/operate/inside';
import { loginNeeded, notFound } from '../problems.tsx';
import type { ConsoleEnv } from '../request-context.ts';
import { createCookieSessions, deriveKey } from './cookie-sessions.ts';
import { onlyOwnForms, protectForms } from './form-protection.tsx';
import { KeptFormPage, readForm, sealForm, unsealForm } from './kept-form.tsx';
import { isRight, LOGIN_PATH, type LoginOptions, loginPages } from './login.tsx';

/**
 * Guards every route that follows. With a token, operators log in; without one, everyone on this
 * machine has access, and forms are signed with a secret that lives as long as the process.
 */
export function access(options: ConsoleOptions): Hono<ConsoleEnv> {
  const { login, now, nonce } = options;
  const app = new Hono<ConsoleEnv>();
  const secret = login?.secret ?? nonce();
  const shared = { secret, now, nonce };
  const visits = createCookieSessions({ ...shared, cookie: 'instep_visit', sameSite: 'Lax' });
  if (login === null) return app.use(asLocal, protectForms({ secret, visits }));
  const sessions = createCookieSessions({
    ...shared,
    cookie: 'instep_operator',
    sameSite: 'Strict',
  });
  const { checkToken } = login;
  const formKey = deriveKey(secret, 'kept form');
  app.use(requireLogin({ checkToken, sessions, formKey }), protectForms({ secret, visits }));
  app.get(KEPT_FORM_PATH, ({ req, render }) => {
    const form = unsealForm(req.query('form') ?? '', formKey);
    if (form === null) throw notFound();
    return render(<KeptFormPage title="Send the form again?" form={form} />);
  });
  return app.route('/', loginPages({ ...options, checkToken, sessions }));
}

const KEPT_FORM_PATH = '/kept-form';

const asLocal: MiddlewareHandler<ConsoleEnv> = async (context, next) => {
  context.set('viewer', { kind: 'local' });
  await next();
};

type LoginCheck = Pick<LoginOptions, 'checkToken' | 'sessions'> & { readonly formKey: Uint8Array };

/** Serves only the login to requests without a session or the token. */
function requireLogin(options: LoginCheck): MiddlewareHandler<ConsoleEnv> {
  const { checkToken, sessions, formKey } = options;
  return async (context, next) => {
    const bearer = bearerOf(context);
    if (bearer !== null) {
      if (!(await isRight(checkToken, bearer))) throw loginNeeded();
      context.set('viewer', { kind: 'bearer' });
      return await next();
    }
    const id = await sessions.find(context);
    if (id !== null) context.set('viewer', { kind: 'session', id });
    else if (context.req.path !== LOGIN_PATH) return await askToLogIn(context, formKey);
    return await next();
  };
}

/** The scheme is case-insensitive (RFC 9110, 11.1). */
function bearerOf({ req }: Context): string | null {
  const [, token = null] = /^bearer +(\S+) *$/i.exec(req.header('Authorization') ?? '') ?? [];
  return token;
}

/**
 * Redirects a person to the login, and from there to the page, or to the form that was sent after the session
 * had ended. A program gets an error.
 */
async function askToLogIn(context: Context, formKey: Uint8Array) {
  const { req } = context;
  const isPart = req.header('HX-Request') === 'true';
  const isForPerson = req.header('Accept')?.includes('text/html') === true;
  // htmx reloads the whole page, which redirects to the login.
  if (isPart) context.header('HX-Refresh', 'true');
  if (isPart || !isForPerson) throw loginNeeded();
  if (req.method === 'POST') {
    return await onlyOwnForms(context, async () => {
      const form = sealForm(await readForm(context), formKey);
      if (form === null) throw loginNeeded();
      context.res = redirectToLogin(context, `${KEPT_FORM_PATH}?form=${form}`);
    });
  }
  if (req.method !== 'GET') throw loginNeeded();
  const from = req.header('Sec-Fetch-Site');
  if (from === 'cross-site' || from === 'same-site') return context.render(<Arrival />);
  const { pathname, search } = new URL(req.url);
  return redirectToLogin(context, pathname + search);
}

function redirectToLogin(context: Context, next: string) {
  return context.redirect(`${LOGIN_PATH}?next=${encodeURIComponent(next)}`, 303);
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
