import type { MiddlewareHandler } from 'hono';
import type { Logger } from '../../runtime/logging.ts';
import type { ConsoleEnv } from './request-context.ts';

const MAX_PATH_LENGTH = 200;

/** Writes a line for whatever an operator had done, whether it went well or not. */
export function logActions(logger: Logger): MiddlewareHandler<ConsoleEnv> {
  return async (context, next) => {
    await next();
    const { req, res } = context;
    const { method } = req;
    if (method === 'GET' || method === 'HEAD') return;
    const path = req.path.slice(0, MAX_PATH_LENGTH);
    logger.info(
      { method, path, status: res.status, viewer: context.var.viewer.kind },
      'operator acted',
    );
  };
}
