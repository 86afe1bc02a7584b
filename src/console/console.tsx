import { Hono } from 'hono';
import type { ConsoleOptions } from './options.ts';
import { overviewPages } from './overview/overview.tsx';

/** The operators' pages. Each area is a folder that brings its own routes. */
export function createConsole(options: ConsoleOptions): Hono {
  const app = new Hono();
  app.route('/', overviewPages(options));
  return app;
}
