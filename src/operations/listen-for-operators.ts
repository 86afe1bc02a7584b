import { getRequestListener } from '@hono/node-server';
import { type ListenerOptions, openListener, type RunningServer } from '../server/listener.ts';

export type ListenForOperatorsOptions = Pick<ListenerOptions, 'host' | 'port' | 'logger'> & {
  readonly fetch: (request: Request) => Response | Promise<Response>;
};

/** A browser opens six of them. */
export const MAX_OPERATORS_CONNECTIONS = 48;

/** Serves the operators' port. @throws ListenFailed */
export async function listenForOperators({
  host,
  port,
  logger,
  fetch,
}: ListenForOperatorsOptions): Promise<RunningServer> {
  return await openListener({
    host,
    port,
    portVariable: 'OPS_PORT',
    logger,
    maxConnections: MAX_OPERATORS_CONNECTIONS,
    onRequest: getRequestListener((request) => fetch(request), {
      hostname: host,
      overrideGlobalObjects: true,
    }),
  });
}
