import type { RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { ConsoleOptions } from 'instep/operate/inside';
import { createPages } from './console.tsx';

/** The operators' pages. */
export function createConsole(options: ConsoleOptions): (request: Request) => Promise<Response> {
  const pages = createPages(options);
  return async (request) => await pages.fetch(request);
}

/** Serves a handler of the Fetch API with `node:http`. */
export function toNodeListener(handler: (request: Request) => Promise<Response>): RequestListener {
  return getRequestListener(handler, { hostname: 'localhost', overrideGlobalObjects: false });
}
