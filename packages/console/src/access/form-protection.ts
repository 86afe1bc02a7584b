import type { MiddlewareHandler } from 'hono';
import { csrf } from 'hono/csrf';
import { notAForm } from '../problems.tsx';
import type { ConsoleEnv } from '../request-context.ts';

/** Behind a proxy our own scheme is unknown, so only the host of the form's origin is compared. */
const isFromSameHost = csrf({
  origin: (origin, { req }) => URL.canParse(origin) && new URL(origin).host === req.header('Host'),
});

export const isReading = (method: string) => ['GET', 'HEAD'].includes(method);

/**
 * Accepts a change only from a form of this site: browsers say where a form comes from, and no script of another
 * site can say something else. No other site can send a bearer token.
 */
export const protectForms: MiddlewareHandler<ConsoleEnv> = async (context, next) => {
  const { method } = context.req;
  if (isReading(method) || context.var.requester.kind === 'bearer') return await next();
  const type = context.req.header('Content-Type') ?? '';
  return await isFromSameHost(context, async () => {
    if (!/^application\/x-www-form-urlencoded\b/i.test(type)) throw notAForm();
    await next();
  });
};
