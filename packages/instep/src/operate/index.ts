/**
 * For operators: find out what a team's plan is and why, and act. The commands and the console call these
 * functions, and your back office can do the same. They return data with codes; the page or command that shows it
 * owns the words. In their examples, `context` is what `openContext` returned, and `operator` is who acts, such as
 * `{ name: 'user:7', how: 'application' }`.
 *
 * @module operate
 */

export * from 'instep-operate';
export { type ConsumerState, findConsumers } from '../changes/consumers.ts';
export type { Environment } from '../config/config.ts';
export { type OpenContextOptions, openContext } from './open-context.ts';
