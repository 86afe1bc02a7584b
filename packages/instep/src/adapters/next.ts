// `instep/next`: the exports of Next.js route files.

import { createFetchHandler, isSameSecret, USER_PATH, WEBHOOK_PATH } from 'instep-engine/http';
import { errorText } from 'instep-engine/runtime';
import { type HandlerMethods, type HandlerOptions, LazyService } from './handler.ts';

export type { HandlerMethods, HandlerOptions } from './handler.ts';

/** The route files decide on the paths. `maintenance` is `on-demand` by default. */
export type NextOptions = Omit<HandlerOptions, 'paths'>;

export type RouteHandler = (request: Request) => Promise<Response>;

/** The exports of Next.js route files. */
export type NextHandlers = HandlerMethods & {
  /** The profile of the signed-in user: `app/api/user/route.ts`. */
  readonly GET: RouteHandler;
  /** Stripe's webhooks: `app/api/stripe/webhook/route.ts`. Maintenance runs after the response. */
  readonly POST: RouteHandler;
  /** Runs maintenance for a scheduler that sends `Authorization: Bearer <CRON_SECRET>`. */
  readonly cron: RouteHandler;
};

/** Below 10 s, the shortest limit that a common platform sets for one call. */
const MAINTENANCE_BUDGET_MS = 8_000;

const MIN_SECRET_LENGTH = 16;

/**
 * Route handlers with options of your own, for a module that the route files import. Without options, export
 * `GET`, `POST` and `cron` of this package directly.
 *
 * @example
 * ```ts
 * import { createNextHandlers } from 'instep/next';
 *
 * // A process that keeps running, such as `next start`, needs no schedule.
 * export const { GET, POST } = createNextHandlers({ maintenance: 'background' });
 * ```
 */
export function createNextHandlers(options: NextOptions = {}): NextHandlers {
  const { maintenance = 'on-demand', environment = process.env } = options;
  const service = new LazyService({ ...options, maintenance });
  const { methods } = service;
  const answerAt = (path: string) =>
    createFetchHandler((request) => service.handle({ ...request, path }));
  const answerUser = answerAt(USER_PATH);
  const answerWebhook = answerAt(WEBHOOK_PATH);
  return {
    ...methods,
    async GET(request) {
      await waitForRequest();
      return await answerUser(request);
    },
    async POST(request) {
      const response = await answerWebhook(request);
      if (service.maintenance === 'on-demand' && response.ok) {
        try {
          const { after } = await import('next/server.js');
          after(() => methods.runMaintenance(MAINTENANCE_BUDGET_MS));
        } catch (cause) {
          // `after` is of Next.js 15.1, and throws outside of a request. The event is stored.
          process.emitWarning(`Instep's maintenance was not scheduled: ${errorText(cause)}`);
        }
      }
      return response;
    },
    async cron(request) {
      await waitForRequest();
      const { CRON_SECRET = '' } = environment;
      if (CRON_SECRET.length < MIN_SECRET_LENGTH) {
        return refuse(
          500,
          `CRON_SECRET is missing or shorter than ${MIN_SECRET_LENGTH} characters.`,
        );
      }
      const sent = request.headers.get('authorization') ?? '';
      if (!isSameSecret(sent, `Bearer ${CRON_SECRET}`)) return refuse(401, 'Unauthorized.');
      await methods.runMaintenance(MAINTENANCE_BUDGET_MS);
      return Response.json({ done: true });
    },
  };
}

/** `next build` calls a GET handler to prerender its response. This ends such a call. */
async function waitForRequest(): Promise<void> {
  const { connection } = await import('next/server.js');
  await connection();
}

function refuse(status: number, error: string): Response {
  return Response.json({ error }, { status });
}

/**
 * The handlers and methods that the environment configures.
 *
 * @example
 * ```ts
 * // Each in its route file: app/api/user, app/api/stripe/webhook, and for a scheduler `cron as GET`.
 * export { cron, GET, POST } from 'instep/next';
 *
 * // In the app's own code.
 * import { access, completeCheckout, syncCustomer } from 'instep/next';
 *
 * export async function returnFromCheckout(sessionId: string) {
 *   const teamId = async ({ metadata }: { metadata: Record<string, string> }) => metadata.teamId ?? '';
 *   return await completeCheckout(sessionId, { teamId });
 * }
 * export const refresh = async (customerId: string) => await syncCustomer(customerId);
 * export const isLockedOut = async (teamId: number) => !(await access(teamId))?.hasAccess;
 * ```
 */
export const { GET, POST, cron, completeCheckout, syncCustomer, access } = createNextHandlers();
