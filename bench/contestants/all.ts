import { betterAuth } from './better-auth.ts';
import type { Contestant } from './contestant.ts';
import { floor } from './floor.ts';
import { createInstep } from './instep.ts';
import { syncEngine } from './sync-engine.ts';

/** In the order in which they have their turns. */
export function createContestants(stripeApiBase: string): Contestant[] {
  const alone = createInstep(stripeApiBase, 1);
  const together = createInstep(stripeApiBase, 2);
  return [alone, floor, together, syncEngine, betterAuth];
}
