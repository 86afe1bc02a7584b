import type { RequestListener } from 'node:http';
import { type ListenerOptions, openListener, type RunningServer } from '../server/listener.ts';

type ListenForOperatorsOptions = Pick<ListenerOptions, 'host' | 'port' | 'logger'>;

type OperatorsListener = RunningServer & {
  /** Serves these pages. Until then every request gets a 503. */
  show(fetch: (request: Request) => Response | Promise<Response>): Promise<void>;
};

/** A browser opens up to six connections. */
export const MAX_OPERATORS_CONNECTIONS = 48;

const answerWhileStarting: RequestListener = (_request, response) => {
  response.writeHead(503, { 'Content-Type': 'text/plain', 'Retry-After': '1' });
  response.end('Instep is starting. Retry in a few seconds.');
};

/** Takes the operators' port. @throws ListenFailed */
export async function listenForOperators({
  host,
  port,
  logger,
}: ListenForOperatorsOptions): Promise<OperatorsListener> {
  let onRequest = answerWhileStarting;
  const server = await openListener({
    host,
    port,
    portVariable: 'OPS_PORT',
    logger,
    maxConnections: MAX_OPERATORS_CONNECTIONS,
    onRequest: (request, response) => onRequest(request, response),
  });
  return {
    ...server,
    async show(fetch) {
      // Imported only now, because it loads Node's `fetch`, which the public port must not wait for.
      const { getRequestListener } = await import('@hono/node-server');
      onRequest = getRequestListener((request) => fetch(request), {
        hostname: host,
        overrideGlobalObjects: true,
      });
    },
  };
}
