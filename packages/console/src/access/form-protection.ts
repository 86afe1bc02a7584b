import type { HonoRequest, MiddlewareHandler } from 'hono';
import { fromOtherSite, notAForm } from '../problems.tsx';
import type { ConsoleEnv } from '../request-context.ts';

export const isReading = (method: string) => ['GET', 'HEAD'].includes(method);

/**
 * Accepts a change only from a form of this site: browsers say where a form comes from, and no script of another site can say
 * something else. A program with a bearer token says nothing; but a proxy can add one to what a browser sends.
 */
export const protectForms: MiddlewareHandler<ConsoleEnv> = async ({ req, var: who }, next) => {
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
