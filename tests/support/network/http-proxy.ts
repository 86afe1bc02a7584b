import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A proxy that passes each request on to the server that is chosen, as in docs/deploy/proxy.md. It never retries, so
 * clients see every failure behind it.
 */
export async function startHttpProxy(originOf: (path: string) => string | undefined) {
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    const origin = originOf(path);
    if (origin === undefined) return response.writeHead(502).end('no server is ready');
    const options = { method: request.method, headers: request.headers, agent: false } as const;
    const upstream = send(new URL(path, origin), options, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    upstream.on('error', (error) => response.writeHead(502).end(error.message));
    return request.pipe(upstream);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
