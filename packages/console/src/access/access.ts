import { type Context, Hono, type MiddlewareHandler } from 'hono';
import {
  type ConsoleLogin,
  type ConsoleUser,
  type OperateContext,
  ROLES,
  type Role,
} from 'instep-operate';
import { LOGOUT_PATH } from '../page.tsx';
import { loginNeeded, operatorsOnly } from '../problems.tsx';
import { type ConsoleEnv, canAct } from '../request-context.ts';
import { createCookieSessions } from './cookie-sessions.ts';
import { isReading, protectForms } from './form-protection.ts';
import { holderOf, LOGIN_PATH, type LoginOptions, loginPages } from './login.tsx';

/** Who has access. */
export type Access =
  /** Users of the app, each with a role. The app decides before a page is requested. */
  | { readonly kind: 'application' }
  /** Everyone with a token. */
  | ({ readonly kind: 'login' } & ConsoleLogin)
  /** Everyone on this machine. */
  | { readonly kind: 'local' };

/** A longer or a binary name would be refused by the audit, after the action. */
const NAME = /^\P{Cc}{1,200}$/u;

export function isConsoleUser({ name, role }: ConsoleUser): boolean {
  return typeof name === 'string' && NAME.test(name) && ROLES.includes(role);
}

type AccessOptions = Pick<OperateContext, 'now' | 'nonce' | 'logger'> & {
  readonly access: Access;
};

/** Guards every route that follows. */
export function access({ access, now, nonce, logger }: AccessOptions): Hono<ConsoleEnv> {
  const app = new Hono<ConsoleEnv>();
  if (access.kind === 'application') return app.use(asUser, onlyOperatorsAct, protectForms);
  if (access.kind === 'local') return app.use(asLocal, protectForms);
  const { tokens, checkToken } = access;
  const sessions = createCookieSessions({
    ...{ now, nonce, cookie: 'instep_operator' },
    secrets: new Map(tokens.map(({ name, token }) => [name, token])),
  });
  const roles = new Map(tokens.map(({ name, role }) => [name, role]));
  app.use(requireLogin({ checkToken, sessions, roles }), onlyOperatorsAct, protectForms);
  return app.route('/', loginPages({ logger, checkToken, sessions }));
}

const asUser: MiddlewareHandler<ConsoleEnv> = async (context, next) => {
  const { user } = context.env;
  if (user === undefined) throw loginNeeded();
  context.set('requester', { ...user, kind: 'user' });
  await next();
};

/** A login and a logout change nothing but the session. */
const OF_EVERYONE = [LOGIN_PATH, LOGOUT_PATH];

const onlyOperatorsAct: MiddlewareHandler<ConsoleEnv> = async (context, next) => {
  const { method, path } = context.req;
  if (!isReading(method) && !canAct(context.var) && !OF_EVERYONE.includes(path)) {
    throw operatorsOnly();
  }
  await next();
};

const asLocal: MiddlewareHandler<ConsoleEnv> = async (context, next) => {
  context.set('requester', { kind: 'local', name: 'localhost', role: 'operator' });
  await next();
};

type LoginCheck = Pick<LoginOptions, 'checkToken' | 'sessions'> & {
  /** By the names of the sessions. */
  readonly roles: ReadonlyMap<string, Role>;
};

/** Serves only the login to requests without a session or the token. */
function requireLogin(options: LoginCheck): MiddlewareHandler<ConsoleEnv> {
  const { checkToken, sessions, roles } = options;
  return async (context, next) => {
    const bearer = bearerOf(context);
    if (bearer !== null) {
      const holder = await holderOf(checkToken, bearer);
      if (holder === null) throw loginNeeded();
      context.set('requester', { ...holder, kind: 'bearer' });
      return await next();
    }
    const name = await sessions.find(context);
    const role = roles.get(name ?? '');
    if (name !== null && role !== undefined) {
      context.set('requester', { name, role, kind: 'session' });
    } else if (context.req.path !== LOGIN_PATH) return askToLogIn(context);
    return await next();
  };
}

/** The scheme is case-insensitive (RFC 9110, 11.1). */
function bearerOf({ req }: Context): string | null {
  const [, token = null] = /^bearer +(\S+) *$/i.exec(req.header('Authorization') ?? '') ?? [];
  return token;
}

/**
 * Redirects a person to the login, and from there to the page. A form that is sent after the session has ended leads to
 * the login too: the browser's way back has what was entered. A program gets an error.
 */
function askToLogIn(context: Context) {
  const { req } = context;
  const isPart = req.header('HX-Request') === 'true';
  const isForPerson = req.header('Accept')?.includes('text/html') === true;
  // htmx reloads the whole page, which redirects to the login.
  if (isPart) context.header('HX-Refresh', 'true');
  if (isPart || !isForPerson) throw loginNeeded();
  if (req.method === 'POST') return redirectToLogin(context, '/');
  if (req.method !== 'GET') throw loginNeeded();
  const { search } = new URL(req.url);
  return redirectToLogin(context, req.path + search);
}

function redirectToLogin(context: Context, next: string) {
  return context.redirect(`${LOGIN_PATH}?next=${encodeURIComponent(next)}`, 303);
}
