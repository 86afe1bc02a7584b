import { createHmac } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { csrf } from 'hono/csrf';
import { CSRF_FIELD } from '../components/form.tsx';
import { badRequest, formExpired, notAForm } from '../problems.tsx';
import type { ConsoleEnv } from '../request-context.ts';
import { type CookieSessions, deriveKey } from './cookie-sessions.ts';
import { isSameSecret } from './token-check.ts';

export type FormProtectionOptions = {
  readonly secret: string;
  /** The sessions of viewers who have not logged in. */
  readonly visits: CookieSessions;
};

/** Behind a proxy our own scheme is unknown, so only the host of the form's origin is compared. */
const fromSameHost = csrf({
  origin: (origin, { req }) => URL.canParse(origin) && new URL(origin).host === req.header('Host'),
});

/**
 * Accepts a change only from a form of ours: the browser confirms its origin, and the form holds a
 * token that is bound to the session. No other site can send a bearer token.
 */
export function protectForms(options: FormProtectionOptions): MiddlewareHandler<ConsoleEnv> {
  const { secret, visits } = options;
  const key = deriveKey(secret, 'csrf');
  return async (context, next) => {
    const { viewer } = context.var;
    if (viewer.kind === 'bearer') return await next();
    const isRead = ['GET', 'HEAD'].includes(context.req.method);
    const known = viewer.kind === 'session' ? viewer.id : await visits.find(context);
    if (known === null && !isRead) throw formExpired();
    const sessionId = known ?? (await visits.begin(context));
    const token = createHmac('sha256', key).update(sessionId).digest('base64url');
    context.set('csrfToken', token);
    if (isRead) return await next();
    return await fromSameHost(context, async () => {
      if (!isSameSecret(await readToken(context), token)) throw formExpired();
      await next();
    });
  };
}

async function readToken({ req }: Context): Promise<string> {
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(req.header('Content-Type') ?? '');
  if (!isForm) throw notAForm();
  try {
    const { [CSRF_FIELD]: token } = await req.parseBody();
    return typeof token === 'string' ? token : '';
  } catch (cause) {
    throw badRequest('The form arrived incomplete. Send it again.', { cause });
  }
}
