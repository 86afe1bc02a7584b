import { betterAuth } from './better-auth.ts';
import { floor } from './floor.ts';
import { createInstep } from './instep.ts';
import { plain } from './plain.ts';
import { syncEngine } from './sync-engine.ts';
import type { System } from './system.ts';

/** All systems, in the order of measurement. */
export function createSystems(stripeApiBase: string): System[] {
  return [createInstep(stripeApiBase), floor, plain, syncEngine, betterAuth];
}
