// `instep/node`: for node:http, Express and Fastify.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createNodeListener, requestPath } from 'instep-engine/http';
import { type HandlerMethods, type HandlerOptions, LazyService } from './handler.ts';

export type { HandlerMethods, HandlerOptions, HandlerPaths } from './handler.ts';

/** Answers requests of `node:http`. With `next`, it is middleware for both endpoints, as in Express. */
export type NodeHandler = HandlerMethods &
  ((request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void);

/**
 * `createHandler` for `node:http` and Express. As middleware, it passes all paths but its own on to `next`.
 * It verifies the signature over the raw body: mount it before `express.json()`.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { createNodeHandler } from 'instep/node';
 *
 * const instep = createNodeHandler();
 * const server = createServer((request, response) => {
 *   instep(request, response, () => response.end('the app'));
 * });
 * server.listen(0, '127.0.0.1', async () => {
 *   const address = server.address();
 *   const port = typeof address === 'object' ? address?.port : null;
 *   const response = await fetch(`http://127.0.0.1:${port}/api/user`);
 *   console.log(await response.json()); // null
 *   server.close();
 *   await instep.close();
 * });
 * ```
 */
export function createNodeHandler(options: HandlerOptions = {}): NodeHandler {
  return nodeHandlerOf(new LazyService(options));
}

function nodeHandlerOf(service: LazyService): NodeHandler {
  const answer = createNodeListener((request) => service.handle(request));
  const handler: NodeHandler = Object.assign(
    (request: IncomingMessage, response: ServerResponse, next?: () => void) => {
      const path = requestPath(request);
      if (next !== undefined && (path === null || !service.serves(path))) next();
      else answer(request, response);
    },
    service.methods,
  );
  return handler;
}

/** The part of a Fastify instance that the plugin uses. */
export type FastifyHost = {
  decorate(name: 'instep', handler: NodeHandler): unknown;
  all(
    path: string,
    options: { onRequest(request: FastifyRequest, reply: FastifyReply): Promise<void> },
    handler: () => void,
  ): unknown;
  addHook(name: 'onClose', hook: () => Promise<void>): unknown;
};

type FastifyRequest = { readonly raw: IncomingMessage };
type FastifyReply = { hijack(): unknown; readonly raw: ServerResponse };

/**
 * `createHandler` as a Fastify plugin, whose methods are those of `fastify.instep`. Its routes read the raw body
 * themselves; all other routes keep their parsers. When the app closes, so does the handler.
 *
 * @example
 * ```ts
 * import { fastifyInstep } from 'instep/node';
 *
 * export const mount = (fastify: { register(plugin: typeof fastifyInstep): unknown }) =>
 *   fastify.register(fastifyInstep);
 * ```
 */
export async function fastifyInstep(
  fastify: FastifyHost,
  options: HandlerOptions = {},
): Promise<void> {
  const service = new LazyService(options);
  const handler = nodeHandlerOf(service);
  fastify.decorate('instep', handler);
  for (const path of service.paths()) {
    // Before Fastify reads the body, whose exact bytes are signed. Its handler is not called then.
    const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
      reply.hijack();
      handler(request.raw, reply.raw);
    };
    fastify.all(path, { onRequest }, () => undefined);
  }
  fastify.addHook('onClose', () => handler.close());
}

// Otherwise Fastify gives the plugin a scope, and only its routes would see the decorator.
Object.assign(fastifyInstep, { [Symbol.for('skip-override')]: true });
