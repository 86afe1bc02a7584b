import { type Context, Hono, type HonoRequest, type MiddlewareHandler } from 'hono';
import { type ConsoleLogin, type ConsoleUser, type OperateContext, ROLES } from 'instep-operate';
import { LOGOUT_PATH } from '../page.tsx';
import { fromOtherSite, loginNeeded, notAForm, operatorsOnly } from '../problems.tsx';
import { type ConsoleEnv, canAct } from '../request-context.ts';
import { createCookieSessions } from './cookie-sessions.ts';
import { LOGIN_PATH, type LoginOptions, loginPages } from './login.tsx';

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
  const sessions = createCookieSessions({ tokens, now, nonce });
  app.use(requireLogin({ checkToken, sessions }), onlyOperatorsAct, protectForms);
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

/** Serves only the login to requests without a session or the token. */
function requireLogin(
  options: Pick<LoginOptions, 'checkToken' | 'sessions'>,
): MiddlewareHandler<ConsoleEnv> {
  const { checkToken, sessions } = options;
  return async (context, next) => {
    const bearer = bearerOf(context);
    if (bearer !== null) {
      const holder = checkToken(bearer);
      if (holder === null) throw loginNeeded();
      context.set('requester', { ...holder, kind: 'bearer' });
      return await next();
    }
    const holder = await sessions.find(context);
    if (holder !== null) {
      const { name, role } = holder;
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

const isReading = (method: string) => ['GET', 'HEAD'].includes(method);

/**
 * Accepts a change only from a form of this site: browsers say where a form comes from, and no script of another site can say
 * something else. A program with a bearer token says nothing; but a proxy can add one to what a browser sends.
 */
const protectForms: MiddlewareHandler<ConsoleEnv> = async ({ req, var: who }, next) => {
  const isOfProgram = who.requester.kind === 'bearer' && originOf(req) === null;
  if (!isReading(req.method) && !isOfProgram) {
    if (!isOfThisSite(req)) throw fromOtherSite();
    const type = req.header('Content-Type') ?? '';
    if (!/^application\/x-www-form-urlencoded\b/i.test(type)) throw notAForm();
  }
  await next();
};

/** What a browser says of where the request comes from; `null`: nothing. */
const originOf = (req: HonoRequest) => req.header('Sec-Fetch-Site') ?? req.header('Origin') ?? null;

/**
 * `Sec-Fetch-Site` is exact, and sent wherever the connection is safe. Without it, the origin's host is compared, because behind
 * a proxy our own scheme is unknown.
 */
function isOfThisSite(req: HonoRequest): boolean {
  const site = req.header('Sec-Fetch-Site');
  if (site !== undefined) return site === 'same-origin';
  const origin = req.header('Origin') ?? '';
  return URL.canParse(origin) && new URL(origin).host === req.header('Host');
}
