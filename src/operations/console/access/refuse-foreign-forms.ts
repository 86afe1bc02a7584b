import type { MiddlewareHandler } from 'hono';
import { csrf } from 'hono/csrf';
import { CSRF_FIELD } from '../components/csrf-field.tsx';
import { badRequest, formTooOld, notAForm } from '../problems.ts';
import type { ConsoleEnv } from '../request-context.ts';
import type { CookieSessions } from './cookie-sessions.ts';
import { deriveKey, sign } from './derive-key.ts';
import { isSameSecret } from './is-same-secret.ts';

export type RefuseForeignFormsOptions = {
  readonly secret: string;
  /** Those of whoever has no session of an operator's. */
  readonly visits: CookieSessions;
};

/** Behind a proxy we do not know our own scheme; browsers say there where a request is from. */
const fromHere = csrf({
  origin: (origin, { req }) => URL.canParse(origin) && new URL(origin).host === req.header('Host'),
});

/**
 * Whatever changes something must come from a form of ours: the browser says so, and the form has
 * what only our page could know, bound to the session. A bearer token no other site can send.
 */
export function refuseForeignForms({ secret, visits }: RefuseForeignFormsOptions) {
  const key = deriveKey(secret, 'csrf');
  const middleware: MiddlewareHandler<ConsoleEnv> = async (context, next) => {
    const { viewer } = context.var;
    if (viewer.kind === 'bearer') return await next();
    const isReading = ['GET', 'HEAD'].includes(context.req.method);
    const known = viewer.kind === 'session' ? viewer.id : await visits.find(context);
    if (known === null && !isReading) throw formTooOld();
    const token = sign(key, known ?? (await visits.begin(context)));
    context.set('csrfToken', token);
    if (isReading) return await next();
    return await fromHere(context, async () => {
      if (!isSameSecret(await readField(context), token)) throw formTooOld();
      await next();
    });
  };
  return middleware;
}

async function readField({ req }: Parameters<MiddlewareHandler>[0]): Promise<string> {
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(req.header('Content-Type') ?? '');
  if (!isForm) throw notAForm();
  try {
    const { [CSRF_FIELD]: field } = await req.parseBody();
    return typeof field === 'string' ? field : '';
  } catch (cause) {
    throw badRequest('The form did not arrive whole. Send it again.', { cause });
  }
}
