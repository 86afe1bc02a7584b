import { timingSafeEqual } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { csrf } from 'hono/csrf';
import { CSRF_FIELD } from '../components/form.tsx';
import { badRequest, formExpired, notAForm } from '../problems.tsx';
import type { ConsoleEnv } from '../request-context.ts';
import { type CookieSessions, deriveKey, sign, VISIT } from './cookie-sessions.ts';

type FormProtectionOptions = {
  readonly secret: string;
  /** The sessions of those who have not logged in. */
  readonly visits: CookieSessions;
};

/** Behind a proxy our own scheme is unknown, so only the host of the form's origin is compared. */
const isFromSameHost = csrf({
  origin: (origin, { req }) => URL.canParse(origin) && new URL(origin).host === req.header('Host'),
});

/** Accepts only forms that come from this site, according to the browser. */
const onlyOwnForms: MiddlewareHandler = async (context, next) => {
  const type = context.req.header('Content-Type') ?? '';
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(type);
  return await isFromSameHost(context, async () => {
    if (!isForm) throw notAForm();
    await next();
  });
};

/**
 * Accepts a change only from a form of ours: the browser confirms its origin, and the form holds a
 * token that is bound to the session. No other site can send a bearer token.
 */
export function protectForms(options: FormProtectionOptions): MiddlewareHandler<ConsoleEnv> {
  const { secret, visits } = options;
  const key = deriveKey(secret, 'csrf');
  return async (context, next) => {
    const { kind, session } = context.var.requester;
    if (kind === 'bearer') return await next();
    const token = sign(key, session ?? (await visitOf(context, visits)));
    context.set('csrfToken', token);
    if (['GET', 'HEAD'].includes(context.req.method)) return await next();
    return await onlyOwnForms(context, async () => {
      if (isSameToken(await readToken(context), token)) return await next();
      throw formExpired();
    });
  };
}

/** Compares tokens in a time that does not reveal where they differ. */
function isSameToken(one: string, other: string): boolean {
  const [bytes, otherBytes] = [Buffer.from(one), Buffer.from(other)];
  return bytes.length === otherBytes.length && timingSafeEqual(bytes, otherBytes);
}

async function visitOf(context: Context, visits: CookieSessions): Promise<string> {
  const visit = await visits.find(context);
  return visit?.id ?? (await visits.begin(context, VISIT));
}

async function readToken({ req }: Context): Promise<string> {
  try {
    const { [CSRF_FIELD]: token } = await req.parseBody();
    return typeof token === 'string' ? token : '';
  } catch (cause) {
    throw badRequest('The form arrived incomplete. Send it again.', { cause });
  }
}
