import type { MiddlewareHandler } from 'hono';
import { hostUnknown } from '../problems.ts';

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/**
 * A page of another site may have its own name lead to this machine, and then ask us as if it were
 * ours; but it cannot name us by our own names.
 */
export const refuseForeignHosts: MiddlewareHandler = async (context, next) => {
  if (!LOOPBACK.test(context.req.header('Host') ?? '')) throw hostUnknown();
  await next();
};
