import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { secureHeaders } from 'hono/secure-headers';
import type { Logger } from 'instep-operate';
import { bodyTooLarge, tookTooLong } from './problems.tsx';
import type { ConsoleEnv } from './request-context.ts';

const MAX_BODY_BYTES = 65_536;
const MAX_PATH_LENGTH = 200;

/** Longer than any statement takes. */
const DEADLINE_MS = 10_000;

const SELF = ["'self'"];

/** Pages run and fetch only our own files, and other sites don't learn our addresses. */
const secure = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: SELF,
    styleSrc: SELF,
    imgSrc: ["'self'", 'data:'],
    connectSrc: SELF,
    formAction: SELF,
    frameAncestors: ["'none'"],
    baseUri: ["'none'"],
  },
  // With `no-referrer`, our own forms would send no origin.
  referrerPolicy: 'same-origin',
  xFrameOptions: 'DENY',
  // The proxy that terminates TLS sets it.
  strictTransportSecurity: false,
});

/** Sets security headers on every response; only files that never change are cached. */
export const safeHeaders: MiddlewareHandler = async (context, next) => {
  await secure(context, async () => {
    await next();
    if (!context.res.headers.has('Cache-Control')) {
      context.res.headers.set('Cache-Control', 'no-store');
    }
  });
};

/** Rejects bodies that are larger than any form of ours. */
export const smallBody: MiddlewareHandler = bodyLimit({
  maxSize: MAX_BODY_BYTES,
  onError() {
    throw bodyTooLarge(MAX_BODY_BYTES);
  },
});

/** Answers in time. What the page was waiting for continues. */
export const withinDeadline: MiddlewareHandler = async (_, next) => {
  await new Promise<void>((resolve, reject) => {
    const reason = `Not done within ${DEADLINE_MS} ms`;
    const timer = setTimeout(() => reject(tookTooLong(reason)), DEADLINE_MS);
    next()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
};

/** Logs every request that may change something. */
export function logActions(logger: Logger): MiddlewareHandler<ConsoleEnv> {
  return async (context, next) => {
    await next();
    const { req, res } = context;
    const { method } = req;
    if (method === 'GET' || method === 'HEAD') return;
    const path = req.path.slice(0, MAX_PATH_LENGTH);
    const { kind, name } = context.var.requester;
    logger.info(
      { method, path, status: res.status, viewer: kind, operator: name },
      'operator acted',
    );
  };
}
