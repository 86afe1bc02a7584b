import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy that passes each request on to the server that is chosen by its path, as in docs/deploy/proxy.md. */
export async function startHttpProxy(originOf: (path: string) => string) {
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    const { method, headers } = request;
    const upstream = send(new URL(path, originOf(path)), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    upstream.on('error', () => response.writeHead(502).end('Bad Gateway'));
    request.pipe(upstream);
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
