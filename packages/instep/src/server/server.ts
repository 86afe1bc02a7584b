import { limitLines } from '../runtime/line-limiter.ts';
import type { Handler } from './http-message.ts';
import { type ListenerOptions, openListener, type RunningServer } from './listener.ts';
import { createNodeListener } from './node-listener.ts';
import { connectionsWithin, readOpenFilesLimit } from './open-files.ts';

export type ListenOptions = Pick<ListenerOptions, 'host' | 'port' | 'logger'> & {
  readonly handle: Handler;
  /** The number of files, sockets included, that another part of this process needs. */
  readonly filesNeededElsewhere?: number;
};

/**
 * Serves a handler at an address, with the limits of `instep serve` for connections, headers and time. Port 0
 * picks a free port, which is in the result's `url`. A handler that throws is logged, and its request is
 * answered with 500.
 *
 * @throws ListenFailed when the address is in use, or not one of this machine
 * @example
 * ```ts
 * import { createLogger, listen } from 'instep';
 *
 * const server = await listen({
 *   host: '127.0.0.1',
 *   port: 0,
 *   handle: async () => ({ status: 200, headers: {}, body: 'ok' }),
 *   logger: createLogger('info'),
 * });
 * console.log(await (await fetch(server.url)).text()); // ok
 * await server.close(1_000);
 * ```
 */
export async function listen(options: ListenOptions): Promise<RunningServer> {
  const { host, port, logger, handle, filesNeededElsewhere } = options;
  const onFailure = limitLines((members) => logger.error(members, 'request failed'));
  return await openListener({
    host,
    port,
    portVariable: 'PORT',
    logger,
    maxConnections: connectionsWithin(readOpenFilesLimit(), filesNeededElsewhere),
    onRequest: createNodeListener(handle, onFailure),
  });
}
