import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { raw } from 'hono/html';
import type { ConsoleLogin, OperateContext } from 'instep/operate';
import { loginNeeded, notFound, operatorsOnly } from '../problems.tsx';
import { type ConsoleEnv, canAct } from '../request-context.ts';
import { createCookieSessions, deriveKey } from './cookie-sessions.ts';
import { onlyOwnForms, protectForms } from './form-protection.tsx';
import { KeptFormPage, readForm, sealForm, unsealForm } from './kept-form.tsx';
import { isRight, LOGIN_PATH, type LoginOptions, loginPages } from './login.tsx';

/** Who has access. */
export type Access =
  /** Users of the app, each with a role. The app decides before a page is requested. */
  | { readonly kind: 'application' }
  /** Operators with the token. */
  | ({ readonly kind: 'login' } & ConsoleLogin)
  /** Everyone on this machine. */
  | { readonly kind: 'local' };

/** A user of the app. The audit keeps the name, so use an id rather than a name or an e-mail address. */
export type ConsoleUser = {
  readonly name: string;
  readonly role: (typeof ROLES)[number];
};

const ROLES = ['operator', 'viewer'] as const;

export function isConsoleUser(user: ConsoleUser): boolean {
  const { name, role } = user;
  return typeof name === 'string' && name !== '' && ROLES.includes(role);
}

type AccessOptions = Pick<OperateContext, 'now' | 'nonce' | 'logger' | 'formSecret'> & {
  readonly access: Access;
};

/** Guards every route that follows. */
export function access({
  access,
  now,
  nonce,
  logger,
  formSecret,
}: AccessOptions): Hono<ConsoleEnv> {
  const app = new Hono<ConsoleEnv>();
  if (access.kind === 'application') {
    return app.use(asUser, onlyOperatorsAct, protectForms({ secret: formSecret, visits: null }));
  }
  // Without a login, the secret lives as long as the process.
  const secret = access.kind === 'login' ? access.secret : nonce();
  const shared = { secret, now, nonce };
  const visits = createCookieSessions({ ...shared, cookie: 'instep_visit', sameSite: 'Lax' });
  if (access.kind === 'local') return app.use(asLocal, protectForms({ secret, visits }));
  const sessions = createCookieSessions({
    ...shared,
    cookie: 'instep_operator',
    sameSite: 'Strict',
  });
  const { checkToken } = access;
  const formKey = deriveKey(secret, 'kept form');
  app.use(requireLogin({ checkToken, sessions, formKey }), protectForms({ secret, visits }));
  app.get(KEPT_FORM_PATH, ({ req, render }) => {
    const form = unsealForm(req.query('form') ?? '', formKey);
    if (form === null) throw notFound();
    return render(<KeptFormPage title="Send the form again?" form={form} />);
  });
  return app.route('/', loginPages({ logger, checkToken, sessions }));
}

const KEPT_FORM_PATH = '/kept-form';

const asUser: MiddlewareHandler<ConsoleEnv> = async (context, next) => {
  const { user } = context.env;
  if (user !== undefined) context.set('viewer', { kind: 'user', ...user });
  await next();
};

const onlyOperatorsAct: MiddlewareHandler<ConsoleEnv> = async (context, next) => {
  const isReading = ['GET', 'HEAD'].includes(context.req.method);
  const isUser = context.var.viewer.kind === 'user';
  if (!isUser || !(isReading || canAct(context.var))) throw operatorsOnly();
  await next();
};

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
  const { search } = new URL(req.url);
  return redirectToLogin(context, req.path + search);
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
