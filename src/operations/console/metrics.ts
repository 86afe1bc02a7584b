import { Hono } from 'hono';
import type { ConsoleOptions } from './options.ts';

/** `GET /metrics`: figures for Prometheus, or whoever reads its format. */
export function metricsPages({ metrics }: Pick<ConsoleOptions, 'metrics'>): Hono {
  return new Hono().get('/', async (context) =>
    context.body(await metrics.expose(), 200, { 'Content-Type': metrics.contentType }),
  );
}
