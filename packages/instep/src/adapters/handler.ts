import { createFetchHandler } from '../server/fetch-handler.ts';
import { createLazyService, type HandlerMethods, type HandlerOptions } from './lazy-service.ts';

/** Answers requests of the Fetch API for both endpoints. */
export type FetchHandler = HandlerMethods & ((request: Request) => Promise<Response>);

/**
 * A handler for any framework that passes on a `Request`. It starts on its first request: it reads the
 * configuration, logs which database it uses, connects, and migrates Instep's own tables. All handlers in a
 * process with the same configuration share one connection pool, even after a hot reload. If the start fails,
 * the request gets a 503, the log has the reason, and the next request tries again.
 *
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 *
 * const handler = createHandler({ maintenance: 'off' });
 * const response = await handler(new Request('http://localhost/api/user'));
 * console.log(response.status, await response.json()); // 200 null
 * await handler.close();
 * ```
 */
export function createHandler(options: HandlerOptions = {}): FetchHandler {
  const { handle, ingest, runMaintenance, close } = createLazyService(options);
  return Object.assign(createFetchHandler(handle), { ingest, runMaintenance, close });
}
