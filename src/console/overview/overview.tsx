import { Hono } from 'hono';
import type { ConsoleOptions } from '../options.ts';
import { Page } from '../page.tsx';

/** `GET /`: whether anybody has to do anything. */
export function overviewPages(_options: ConsoleOptions): Hono {
  return new Hono().get('/', (context) => context.html(<Page title="Overview" area="Overview" />));
}
