import type { MiddlewareHandler } from 'hono';
import { secureHeaders } from 'hono/secure-headers';

const SELF = ["'self'"];

/**
 * On every answer. Nothing runs, and nothing is fetched, that is not a file of ours. Other sites
 * learn nothing of our addresses; our own forms say where they are from, which `no-referrer` would
 * keep even from us.
 */
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
  referrerPolicy: 'same-origin',
  xFrameOptions: 'DENY',
  // Whether there is TLS is for the proxy to say that has it.
  strictTransportSecurity: false,
});

/** What a page shows is of one moment; only files that never change say otherwise themselves. */
export const safeHeaders: MiddlewareHandler = async (context, next) => {
  await secure(context, async () => {
    await next();
    if (!context.res.headers.has('Cache-Control')) {
      context.res.headers.set('Cache-Control', 'no-store');
    }
  });
};
